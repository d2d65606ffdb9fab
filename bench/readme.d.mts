import type { Results } from "./results.mjs";

export function figuresBlock(results: Results): string;
export function withFigures(readme: string, block: string): string;
