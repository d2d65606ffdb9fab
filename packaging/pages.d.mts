export const FILE: string;
export const ASKED: RegExp;

/** @param tree the commands: completions/tree.json */
export function pagesFile(tree: unknown): string;
