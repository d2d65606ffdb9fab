import { countColumn, iso, type Listed, timeColumn } from "../../cli/commands/service/list.ts";
import { bytesText } from "../../shared/numbers.ts";
import type { Kept } from "./kept.ts";

/** How what is kept is listed. */
export const COLUMNS: readonly Listed<Kept>[] = [
  { name: "what", value: ({ what }) => what, title: "what" },
  countColumn("items", ({ items }) => items),
  countColumn("people", ({ people }) => people),
  countColumn("rows", ({ rows }) => rows),
  {
    name: "bytes",
    value: ({ bytes }) => bytes,
    title: "size",
    align: "right",
    show: ({ bytes }) => (bytes === null ? "" : bytesText(bytes)),
  },
  timeColumn("oldest", "oldest", ({ oldest }) => oldest),
  { name: "newest", value: ({ newest }) => iso(newest) },
  { name: "path", value: ({ path }) => path, title: "where", long: true },
];
