/**
 * Text from data or from a server made harmless for a terminal: C0 and C1 controls, DEL, escape sequences, bidi and zero-width
 * characters and lone surrogates become visible replacements. Line breaks become spaces.
 */
export function safeText(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\t\n\r\u2028\u2029]+/g, " ")
    .replace(
      /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/g,
      "\ufffd",
    );
}

/** JSON text for a terminal: what {@link safeText} would replace is escaped instead, so the document stays the same value. */
export function safeJson(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
