// What html-validate checks on the built pages.
export default {
  extends: ["html-validate:standard"],
  elements: ["html5"],
  rules: {
    // The theme's own: two check boxes (drawer, search) carry an autocomplete attribute.
    "valid-autocomplete": "off",
  },
};
