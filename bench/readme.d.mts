import type { Results } from "./results.mjs";

export function figuresBlock(results: Results, earlier?: readonly Results[]): string;
export function withFigures(readme: string, block: string): string;
