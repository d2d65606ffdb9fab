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
// 79b6b9245922044a912b1292f7ecee6b3addb932786a5d721e48d555e7d1f8b5
const CODE = `
AGFzbQEAAAABFgVgAX8AYAAAYAF/AX9gAn9/AGAAAX8DBwYBAgMEAAAFAwEABgczBgViZWdpbgAFBWJ5dGVzAAQFcG
FpcnMAAgVjb3VudAADBnBsYWNlcwABBm1lbW9yeQIACAEACqwFBlYBA38DQCACQYACSARAIAJBBHRBgIABaiEAQQAh
AQNAIAFBCEgEQCACIAF1QQFxBEAgACABOwEAIABBAmohAAsgAUEBaiEBDAELCyACQQFqIQIMAQsLC1oBA39BgIAMIQ
EDQCAAIAJKBEAgASACQQN1QYBAay0AACIDQQR0QYCAAWr9AAQAIAL9EP2OAf0LBAAgASADaUEBdGohASACQQhqIQIM
AQsLIAFBgIAMa0EBdQvIAQIDfwZ7A0AgACADSgRAIANBAXRBgIAEaiIC/QAEACEHIAL9AAQQIQj9DAAAAAAAAAAAAA
AAAAAAAAAhBf0MAAAAAAAAAAAAAAAAAAAAACEGQQAhAgNAIAEgAkoEQCAFIAcgAkECdEGAoAFqIgT9CAEAIgn9kQEg
BP0IAQIiCv0w/VAhBSAGIAggCf2RASAK/TD9UCEGIAJBAWohAgwBCwsgA0EDdUGAQGsiAiACLwEAIAUgBv1l/WRxOw
EAIANBEGohAwwBCwsLLgECf0GAwAAhAANAIABBgIABSARAIAEgACkDAHunaiEBIABBCGohAAwBCwsgAQu9AQICfwR7
QYCgAf0ABAAhA0GQoAH9AAQAIQQDQCAAIAFKBEAgAUEDdUGAQGsiAiACLwEAIAMgAUGAgARq/QAEACIG/QwPDw8PDw
8PDw8PDw8PDw8P/U4iBf0O/QwBAgQIECBAgAAAAAAAAAAAIAZBBP1tIgb9Dv1OIAQgBf0O/QwAAAAAAAAAAAECBAgQ
IECAIAb9Dv1O/VD9DAAAAAAAAAAAAAAAAAAAAAD9JP1kcTsBACABQRBqIQEMAQsLC0ABAn9BgMAAQf8BIABBA3UiAf
wLACABQYBAayICQQBBgMAAIAFr/AsAQQEgAEEHcXRBAWsiAARAIAIgADoAAAsL
`;
