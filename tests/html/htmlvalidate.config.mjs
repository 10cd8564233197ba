// What html-validate checks on the built pages, and the two things that are known of the theme.
export default {
  extends: ["html-validate:standard"],
  elements: [
    "html5",
    // The contents' section labels carry an empty tabindex.
    { label: { inherit: "label", attributes: { tabindex: { enum: ["", "/-?\\d+/"] } } } },
  ],
  rules: {
    // Two check boxes (drawer, search) carry an autocomplete attribute.
    "valid-autocomplete": "off",
  },
};
