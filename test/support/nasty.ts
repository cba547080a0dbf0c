// Texts that would do something in a page that doesn't escape them: `window.hacked` is set, or text is reordered.
export const NASTY = [
  "<script>window.hacked=1</script>",
  `"><img src=x onerror="window.hacked=1">`,
  "' autofocus onfocus='window.hacked=1",
  "</title></textarea><svg onload=window.hacked=1>",
  "javascript:window.hacked=1",
  "&lt;script&gt;&#x3c;b&#62;",
  "\u202eoverridden\u2066isolated\u2069",
  "{{7*7}}<%= 7 %>",
];

/** Whether a text has characters that reorder the text around them (UAX #9). */
export const reorders = (text: string) => /[\u202a-\u202e\u2066-\u2069]/.test(text);
