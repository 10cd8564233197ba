"""From pages with keys to a site: the Markdown extension, the MkDocs hooks, citations and the theme's overrides."""
