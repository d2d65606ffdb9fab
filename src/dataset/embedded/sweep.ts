// Tested by test/dataset/sweep.test.ts.
// Who of a chunk passes tests, by the code of sweep.as. It looks at everybody, which is less work
// than to take each from the postings where many pass.
import { instanceOf } from "../../shared/rows/machine.ts";

const BITS = 8_192;
const BITS_BYTES = 8_192;
const TEST = 20_480;
const CODES = 65_536;
const PLACES = 196_608;
const TABLE_BYTES = 32;
/** Everybody is held against each. */
const MOST_RANGES = 8;

interface Code {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly begin: (people: number) => void;
  readonly bytes: (people: number) => void;
  readonly pairs: (people: number, ranges: number) => void;
  readonly count: () => number;
  readonly places: (people: number) => number;
}

/** Null where there is no WebAssembly, undefined before anybody asked. */
let machine: Code | null | undefined;

/** Who does not pass is out: of the people of a chunk, whose codes these are. */
export type Sweep = (code: Code, codes: ArrayLike<number>, people: number) => void;

/**
 * @param width bytes of a code
 * @param ranges from and to (not included), rising and apart
 * @returns undefined where people are to be looked at one by one
 */
export function sweepOf(
  width: number,
  ranges: readonly (readonly [number, number])[],
): Sweep | undefined {
  machine ??= instanceOf<Code>(CODE) ?? null;
  if (!machine || width > 2 || (width === 2 && ranges.length > MOST_RANGES)) return undefined;

  if (width === 2) {
    const test = ranges.flatMap(([from, to]) => [from, to - from]);
    return (code, codes, people) => {
      const memory = new Uint16Array(code.memory.buffer);
      memory.set(test, TEST / 2);
      memory.set(codes, CODES / 2);
      code.pairs(people, ranges.length);
    };
  }

  const table = new Uint8Array(TABLE_BYTES);
  for (const [from, to] of ranges) {
    for (let code = from; code < to; code++) {
      const at = ((code & 128) >>> 3) | (code & 15);
      table[at] = (table[at] ?? 0) | (1 << ((code >>> 4) & 7));
    }
  }

  return (code, codes, people) => {
    const memory = new Uint8Array(code.memory.buffer);
    memory.set(table, TEST);
    memory.set(codes, CODES);
    code.bytes(people);
  };
}

/** Who of a chunk passes: to be read before the next chunk is looked at. */
export interface Passing {
  readonly count: number;
  /** Each once, in no order. */
  readonly places: Uint16Array;
  /** The same as a bit for each person of the chunk, in their order. */
  readonly bits?: Uint32Array;
}

/** @param sweeps made here, each with the codes of the chunk */
export function swept(
  people: number,
  sweeps: readonly { readonly sweep: Sweep; readonly codes: ArrayLike<number> }[],
): Passing {
  const code = machine;
  if (!code) throw new Error("nothing can be swept");
  code.begin(people);
  for (const { codes, sweep } of sweeps) sweep(code, codes, people);

  const { buffer } = code.memory;
  return {
    count: code.count(),
    bits: new Uint32Array(buffer, BITS, BITS_BYTES / 4),
    get places() {
      return new Uint16Array(buffer, PLACES, code.places(people));
    },
  };
}

// Made of sweep.as by `npm run wasm`, of SHA-256
// 69f57439fe14e117c852fbf84c7cddbf3482bbbf44dfad0e65ed932d79cdc54c
const CODE = `
AGFzbQEAAAABFgVgAX8AYAAAYAF/AX9gAn9/AGAAAX8DBwYBAgMEAAAFAwEAAAczBgViZWdpbgAFBWJ5dGVzAAQFcG
FpcnMAAgVjb3VudAADBnBsYWNlcwABBm1lbW9yeQIACAEACrQFBl4BA39BBj8Aa0AAGgNAIAJBgAJIBEAgAkEEdEGA
gAFqIQBBACEBA0AgAUEISARAIAIgAXVBAXEEQCAAIAE7AQAgAEECaiEACyABQQFqIQEMAQsLIAJBAWohAgwBCwsLWg
EDf0GAgAwhAQNAIAAgAkoEQCABIAJBA3VBgEBrLQAAIgNBBHRBgIABav0ABAAgAv0Q/Y4B/QsEACABIANpQQF0aiEB
IAJBCGohAgwBCwsgAUGAgAxrQQF1C8gBAgN/BnsDQCAAIANKBEAgA0EBdEGAgARqIgL9AAQAIQcgAv0ABBAhCP0MAA
AAAAAAAAAAAAAAAAAAACEF/QwAAAAAAAAAAAAAAAAAAAAAIQZBACECA0AgASACSgRAIAUgByACQQJ0QYCgAWoiBP0I
AQAiCf2RASAE/QgBAiIK/TD9UCEFIAYgCCAJ/ZEBIAr9MP1QIQYgAkEBaiECDAELCyADQQN1QYBAayICIAIvAQAgBS
AG/WX9ZHE7AQAgA0EQaiEDDAELCwsuAQJ/QYDAACEAA0AgAEGAgAFIBEAgASAAKQMAe6dqIQEgAEEIaiEADAELCyAB
C70BAgJ/BHtBgKAB/QAEACEDQZCgAf0ABAAhBANAIAAgAUoEQCABQQN1QYBAayICIAIvAQAgAyABQYCABGr9AAQAIg
b9DA8PDw8PDw8PDw8PDw8PDw/9TiIF/Q79DAECBAgQIECAAAAAAAAAAAAgBkEE/W0iBv0O/U4gBCAF/Q79DAAAAAAA
AAAAAQIECBAgQIAgBv0O/U79UP0MAAAAAAAAAAAAAAAAAAAAAP0k/WRxOwEAIAFBEGohAQwBCwsLQAECf0GAwABB/w
EgAEEDdSIB/AsAIAFBgEBrIgJBAEGAwAAgAWv8CwBBASAAQQdxdEEBayIABEAgAiAAOgAACws=
`;
