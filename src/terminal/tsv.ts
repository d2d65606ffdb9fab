export { tsv } from "./printer.ts";
