/** A word, or a list of them. */
type Given = string | number | readonly (string | number)[];

/** The words of a command line as one types it; what is put in with `${…}` stays a word, or the words that it lists. */
export function asTyped(text: TemplateStringsArray, ...given: readonly Given[]): string[] {
  const words: string[] = [];
  let isOpen = false;
  const add = (part: string): void => {
    if (isOpen) words.push(`${words.pop()}${part}`);
    else words.push(part);
    isOpen = true;
  };

  for (const [at, piece] of text.entries()) {
    for (const part of piece.split(/(\s+)/)) {
      if (/\s/.test(part)) isOpen = false;
      else if (part !== "") add(part);
    }
    const value = given[at];
    if (Array.isArray(value)) words.push(...value.map(String));
    else if (value !== undefined) add(String(value));
  }
  return words;
}
