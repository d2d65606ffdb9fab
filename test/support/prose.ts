/**
 * What a page of docs says in words: blocks of code, addresses of links, marks, and what a script
 * wrote into it are left out.
 */
export interface Prose {
  readonly words: number;
  /** Words a sentence, of paragraphs and lists. */
  readonly sentences: readonly number[];
  /** Words a cell of its tables. */
  readonly cells: readonly number[];
}

const wordsIn = (text: string): number =>
  text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** A full stop, question or exclamation mark, and then something that begins a sentence. */
const END = /(?<=[.!?][)"'*_`]*)\s+(?=[("'*_`[]*[\p{Lu}\p{N}`])/u;

export function proseOf(page: string): Prose {
  const text = page
    .replace(/^( *)```[\s\S]*?^\1```/gm, "")
    // What a script writes is not what somebody wrote.
    .replace(/<!-- (\w+):begin -->[\s\S]*?<!-- \1:end -->/g, "")
    .replace(/<!--[\s\S]*?-->/g, "")
    .replace(/!\[[^\]]*\]\([^)]*\)/g, "")
    .replace(/\]\([^)]*\)/g, "]");

  const cells: number[] = [];
  const blocks: string[] = [];
  let open = false;
  for (const line of text.split("\n")) {
    const bare = line.trim();
    const isTable = bare.startsWith("|");
    const isOwn = isTable || bare === "" || /^#|^ {4}\S/.test(line);
    if (isTable) {
      // A bar inside of code is written `\|`.
      cells.push(
        ...bare
          .slice(1, -1)
          .split(/(?<!\\)\|/)
          .map(wordsIn),
      );
    } else if (/^#|^ {4}\S/.test(line) && !open) blocks.push("");
    else if (!isOwn || (open && bare !== "" && !line.startsWith("#"))) {
      const begins = !open || /^\s*([-*]|\d+\.)\s/.test(line);
      if (begins) blocks.push(bare);
      else blocks.push(`${blocks.pop() ?? ""} ${bare}`);
    }
    open = !isTable && bare !== "" && !line.startsWith("#") && blocks.at(-1) !== "";
  }

  return {
    words: wordsIn(text),
    sentences: blocks
      .flatMap((block) => block.split(END))
      .map(wordsIn)
      .filter((words) => words > 0),
    cells,
  };
}
