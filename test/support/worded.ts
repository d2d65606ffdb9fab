import { OwnCommand } from "../../src/shared/errors.ts";

const worded = new Set<string>();
const asTyped = OwnCommand.prototype.toString;

OwnCommand.prototype.toString = function (this: OwnCommand): string {
  const text = asTyped.call(this);
  worded.add(text);
  return text;
};

/** Commands that sentences and errors carried as such, as they are typed, since this was asked last; the longest first. */
export function wordedSince(): string[] {
  const all = [...worded].sort((a, b) => b.length - a.length);
  worded.clear();
  return all;
}
