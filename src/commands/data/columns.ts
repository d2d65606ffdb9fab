import { grouped } from "../../contract/text.ts";
import { bytesText } from "../../terminal/numbers.ts";
import { iso, type Listed, minute } from "../service/list.ts";
import type { Kept } from "./kept.ts";

/** How what is kept is listed. */
export const COLUMNS: readonly Listed<Kept>[] = [
  { name: "what", value: ({ what }) => what, title: "what" },
  { name: "items", value: ({ items }) => items, title: "items", align: "right", show: ({ items }) => grouped(items) },
  {
    name: "people",
    value: ({ people }) => people,
    title: "people",
    align: "right",
    show: ({ people }) => (people === null ? "" : grouped(people)),
  },
  {
    name: "rows",
    value: ({ rows }) => rows,
    title: "rows",
    align: "right",
    show: ({ rows }) => (rows === null ? "" : grouped(rows)),
  },
  {
    name: "bytes",
    value: ({ bytes }) => bytes,
    title: "size",
    align: "right",
    show: ({ bytes }) => (bytes === null ? "" : bytesText(bytes)),
  },
  { name: "oldest", value: ({ oldest }) => iso(oldest), title: "oldest", show: ({ oldest }) => minute(oldest) },
  { name: "newest", value: ({ newest }) => iso(newest) },
  { name: "path", value: ({ path }) => path, title: "where", long: true },
];
