// Tested by test/unit/output-csv-bytes.test.ts and test/unit/rows-broken.test.ts.
// The memory in which rows are scanned and written as CSV, by the code of rows.as. It is fast from
// the first row on: a page of 1,000 is over before Node has compiled as much of JavaScript.

/** Where a page begins; behind it are zeros. */
export const ORIGIN = 64;
const ZEROS = 32;
const PAGE_BYTES = 65_536;
/** A larger memory is given up where pages are small again: it never shrinks. */
const KEPT_BYTES = 2 ** 24;
const MOST_BYTES = 2 ** 31;

type Numbers = (...numbers: number[]) => number;

interface Code {
  readonly memory: { readonly buffer: ArrayBuffer; readonly grow: (pages: number) => number };
  readonly scan: Numbers;
  readonly found: Numbers;
  readonly ended: Numbers;
  readonly csv: Numbers;
  readonly hashes: Numbers;
  readonly stoppedRow: Numbers;
  readonly stoppedColumn: Numbers;
}

/** As much of it as is used; nothing under `node --jitless`. */
interface WebAssemblyApi {
  readonly Module: new (code: Buffer) => object;
  readonly Instance: new (module: object) => { readonly exports: object };
}

const compiled = new Map<string, object>();

/**
 * A memory of its own beside code that `npm run wasm` has made, in Base64.
 * @returns undefined where there is no WebAssembly, or not as much of it, or no room
 */
export function instanceOf<Exports extends object>(code: string): Exports | undefined {
  const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };
  try {
    const module = compiled.get(code) ?? new WebAssembly.Module(Buffer.from(code, "base64"));
    compiled.set(code, module);
    return new WebAssembly.Instance(module).exports as Exports;
  } catch {
    return undefined;
  }
}

export class RowMachine {
  readonly code: Code;
  /** All of its memory, in bytes and in numbers of four: anew whenever it has grown. */
  bytes = Buffer.alloc(0);
  words = new Int32Array(0);
  #held: Buffer | undefined;

  static #shared: RowMachine | undefined;

  private constructor(code: Code) {
    this.code = code;
    this.#look();
  }

  /**
   * The one of this process, which is used up to the next call: Node sets gigabytes of addresses
   * aside for each. @returns undefined where there is no WebAssembly, or no room: rows are parsed
   */
  static for(page: Buffer): RowMachine | undefined {
    const size = RowMachine.#shared?.bytes.length ?? Number.POSITIVE_INFINITY;
    if (size <= Math.max(KEPT_BYTES, page.length * 8)) return RowMachine.#shared;
    const code = instanceOf<Code>(CODE);
    RowMachine.#shared = code && new RowMachine(code);
    return RowMachine.#shared;
  }

  /** @returns the first place behind the page, undefined: there is no room for it */
  hold(page: Buffer): number | undefined {
    const end = ORIGIN + page.length;
    if (!this.reserve(end + ZEROS)) return undefined;
    if (this.#held !== page) {
      page.copy(this.bytes, ORIGIN);
      this.bytes.fill(0, end, end + ZEROS);
      this.#held = page;
    }
    return aligned(end + ZEROS);
  }

  /** @returns whether there are so many bytes; `bytes` and `words` are others then */
  reserve(size: number): boolean {
    const more = size - this.bytes.length;
    if (more <= 0) return true;
    if (size > MOST_BYTES) return false;
    try {
      // By an eighth more: each growth costs a call of the system.
      this.code.memory.grow(Math.ceil((more + size / 8) / PAGE_BYTES));
    } catch {
      return false;
    }
    this.#look();
    return true;
  }

  #look(): void {
    const { buffer } = this.code.memory;
    this.bytes = Buffer.from(buffer);
    this.words = new Int32Array(buffer);
  }
}

export const aligned = (place: number): number => (place + 15) & ~15;

// Made of rows.as by `npm run wasm`, of SHA-256
// 1fa5ef95c0b3567cc6588e566f77237b3a4a10b450e7dcf66e9bb04e7ba1bb66
const CODE = `
AGFzbQEAAAABPwdgAAF/YAJ/fwF/YAF/AX9gB39/f39/f38Bf2AFf39/f38Bf2AGf39/f39/AGAOf39/f39/f39/f3
9/f38BfwMMCwIBAQAAAwQFAAAGBQMBAAAGJAd/AUEAC38BQQALfwFBAAt/AUEAC38BQQALfwFBAAt/AUEACwdNCAVm
b3VuZAAIBWVuZGVkAAkEc2NhbgAFBmhhc2hlcwAHCnN0b3BwZWRSb3cAAw1zdG9wcGVkQ29sdW1uAAQDY3N2AAoGbW
Vtb3J5AgAKixwLtgMCBH8BeyAAQQFqIQADQCAA/QAEACIF/QwiIiIiIiIiIiIiIiIiIiIi/SMgBf0MXFxcXFxcXFxc
XFxcXFxcXP0j/VAgBf0MICAgICAgICAgICAgICAgIP0m/VD9ZCECIAX9DCwsLCwsLCwsLCwsLCwsLCz9I/1kIQMgAk
UEQCABQQJyIAEgAxshASAAQRBqIQAMAQsgAUECciABIANBASACaCIBdEEBa3EbIQMgACABaiICLQAAQSJGBEAgAkEB
akECdCADcg8LIAItAABB3ABHBEBBfw8LAkAgAi0AASIBQfUARgRAIAJBAmohAQNAIAEgAkEGakgEQEF/IQAgAS0AAC
IEQTBrQQlNBH9BAQUgBEEgckHhAGtBBkkLRQ0DIAFBAWohAQwBCwsgAkEGaiEADAELIAFBIkYiAEUEQCABQdwARiEA
CyAARQRAIAFBL0YhAAsgAEUEQCABQeIARiEACyAARQRAIAFB5gBGIQALIABFBEAgAUHuAEYhAAsgAEUEQCABQfIARi
EACyACQQJqQX8gACABQfQARiAAGxshAAsgAEEATgRAIANBAXIhAQwBCwtBfwu4BgEDfyAALQAAIgJBIkYEQCAAEABB
AnUPCyACQdsARyACQfsAR3EEQAJ/IAAiAS0AAEE5SwRAIABBBGogACgCACIBQfTk1asGRiABQe7qseMGRnINARogAE
EFakF/IAFB5sKxmwdGBH8gAC0ABEHlAEYFQQALGwwBCyABQQFqIAEgAS0AAEEtRhsiAi0AAEEwRgRAIAJBAWohAAUg
AiEAA0AgAC0AAEEwa0EJTQRAIABBAWohAAwBCwsLQX8gACACRg0AGiAALQAAQS5GBEAgAEEBaiICIQADQCAALQAAQT
BrQQlNBEAgAEEBaiEADAELC0F/IAAgAkYNARoLIAAtAABBIHJB5QBGBEAgAEEBaiICLQAAIQMgAEECaiACIANBLUYg
A0ErRnIbIgIhAANAIAAtAABBMGtBCU0EQCAAQQFqIQAMAQsLQX8gACACRg0BGgsgACABa0EQTgRAIwBBAnIkAAsgAA
sPCyABQSBGBEBBfw8LIABBAWoiAC0AAEEgTQRAIwBBAXIkAANAIAAtAAAiA0EKRiADQSBGciADQQ1GciADQQlGcgRA
IABBAWohAAwBCwsLIAJBAmoiAyAALQAARgRAIABBAWoPCwNAIAJB+wBGBEAgAC0AAEEiRwRAQX8PCyAAEABBAnUiAE
EASARAQX8PCyAALQAAQSBNBEAjAEEBciQAA0AgAC0AACIEQQpGIARBIEZyIARBDUZyIARBCUZyBEAgAEEBaiEADAEL
CwsgAC0AAEE6RwRAQX8PCyAAQQFqIgAtAABBIE0EQCMAQQFyJAADQCAALQAAIgRBCkYgBEEgRnIgBEENRnIgBEEJRn
IEQCAAQQFqIQAMAQsLCwsgACABQQFqEAEiAEEASARAQX8PCyAALQAAQSBNBEAjAEEBciQAA0AgAC0AACIEQQpGIARB
IEZyIARBDUZyIARBCUZyBEAgAEEBaiEADAELCwsgAyAALQAARgRAIABBAWoPCyAALQAAQSxGBEAgAEEBaiIALQAAQS
BNBEAjAEEBciQAA0AgAC0AACIEQQpGIARBIEZyIARBDUZyIARBCUZyBEAgAEEBaiEADAELCwsMAQsLQX8L+QIBA38g
AEHAAEYEf0EBBSAAKAIAQe7qseMGRgsEQEEADwsgAC0AAEEiRiICBEAgAUEBcUUhAgsgAEEBaiAAIAIbIQMgAUECdS
IBQQFrIAEgAhshBCACBH9BAQUgACIBQQFqIAAgAC0AAEEtRhsiACAERgR/QQEFIAAtAABBMEYgBCABa0EBSnELBH9B
AAUDQCAALQAAQTBrQQlNBEAgAEEBaiEADAELCyAAIAROCwtFBEBBfw8LIAMhAANAIAAgBEgEQAJ/IAQgAGsiAUEETg
RAIAAoAgAMAQsgAUEATAR/QQAFIAAoAgBBASABQQN0dEEBa3ELCyECAn8gBCAAQQRqayIBQQROBEAgACgCBAwBCyAB
QQBMBH9BAAUgACgCBEEBIAFBA3R0QQFrcQsLIQEjAiACc0GV08feBWwkAiMDIAFzQbna6MsCbCQDIwIjA0EPdnMkAi
MDIwJBDXZzJAMgAEEIaiEADAELCyAEIANrIgAjAnMkAiAACwQAIwQLBAAjBQvgAQEEfyACQQF0QQJqQQJ0IQpBACQA
A0AgACABSCAGIAhKcQR/IAAtAABB3QBHBUEACwRAAkAgACACIAMgBCAFQQhqEAYiB0EASARAIwBBBHIkAAwBCyAFIA
BBQGo2AgAgBSAHQUBqNgIEIAchAANAIAAtAABBLEYEf0EBBSAALQAAIglBCkYgCUEgRnIgCUENRnIgCUEJRnILBEAg
AEEBaiEADAELCyAAIAdBAWpHBH8gAC0AAEHdAEcFQQALBEAjAEEBciQACyAIQQFqIQggBSAKaiEFDAILCwsgACQBIA
gLwQMBBX8gAC0AAEH7AEcEQEF/DwtBASEHIABBAWohAANAIAEgCUoEQCAEQQA2AgACQCAHRQ0AIAAtAABBIE0EQCMA
QQFyJAADQCAALQAAIgVBCkYgBUEgRnIgBUENRnIgBUEJRnIEQCAAQQFqIQAMAQsLCyACIAMoAgRqIQggAiADKAIAai
EGIAAhBQNAIAZBCGogCEwEfyAFKQMAIAYpAwBRBUEACwRAIAVBCGohBSAGQQhqIQYMAQsLA0AgBiAISAR/IAUtAAAg
Bi0AAEYFQQALBEAgBUEBaiEFIAZBAWohBgwBCwsgBiAISA0AIAUtAABBIkYEfyAFEAAFIAVBABABQQJ0CyIAQQBIBE
BBfw8LIAUtAABB+wBGBEAjAEEEciQACyAEIAVBQGo2AgAgBCAAQYACazYCBCAAQQJ1IgAtAABBIE0EQCMAQQFyJAAD
QCAALQAAIgVBCkYgBUEgRnIgBUENRnIgBUEJRnIEQCAAQQFqIQAMAQsLCyAALQAAQf0ARgRAQQAhBwUgAC0AAEEsRw
RAQX8PCwsgAEEBaiEACyAJQQFqIQkgBEEIaiEEIANBBGohAwwBCwtBfyAAIAcbC+gCAQZ/IAFBAXRBAmpBAnQhCANA
IAIgBkoEQCAAQQhqIgkoAgBBf0cgCSADQQN0aiIHKAIAQUBrIQEgBygCBEGAAmohByAEQQBIBH9BwAAFIAkgBEEDdG
ooAgBBQGsLIQsgBEEASAR/QQAFIAkgBEEDdGooAgRBgAJqCyEJIAVBADYCCEHFu/KIeCQCQYzlnrp5JAMEfyABIAcQ
AkEATAVBAQsEf0EBBSALIAkQAkEASAtFBEAgBSMDIgEgAUEQdnNB65Svr3hsIgEgAUENdnNBtdzKlXxsIgEgAUEQdn
M2AgAgBSMCIwNBB3RzIgEgAUEQdnNB65Svr3hsIgEgAUENdnNBtdzKlXxsIgEgAUEQdnM2AgQgBSMCIwNqIgEgAUEQ
dnNB65Svr3hsIgEgAUENdnNBtdzKlXxsIgEgAUEQdnNBEHYiAUEBIAEbNgIICyAGQQFqIQYgACAIaiEAIAVBDGohBQ
wBCwsLBAAjAAsEACMBC/gGAQd/IAFBAXRBAmpBAnQhEiAMIQ8DQCADIAtKBEAgACACIAtBAnRqKAIAIBJsakEIaiER
IA9FBEAgDSQGCyALJAQgESgCAEF/RgRAIA0kAUECDwsDQCAFIA9KBEAgD0EASgRAIA0gCDoAACANQQFqIQ0LAkAgBC
APQQJ0aigCACIBQQBIBH9BAAUgESABQQN0aigCAAtFDQAgESABQQN0aiIBKAIEQYACaiITQQJ1IRAgASgCAEFAayIM
LQAAIQEgDCgCACEOIAFBIkYEQCAMLQABIRQgB0UiAUUEQCAGIBRqLQAARSEBCyABBH8gB0ECSAR/QQAFIAwhAQJ/A0
AgASAQSARAQQEgAS0AAEE7Rg0CGiABQQFqIQEMAQsLQQALC0UFIAELIQ4gE0ECcUEARyIBBEAgCEEsRiEBCyABRQRA
IBRBIEYhAQsgAUUEQCAQQQJrLQAAQSBGIQELIBNBAXFBASAOG0UEQCABRSIOIAxqIRMgECAMayAOQQF0ayEUQQAhAQ
NAIAEgFEgEQCABIA1qIAEgE2r9AAQA/QsEACABQRBqIQEMAQsLIA0gECAMayAOQQF0a2ohDQwCCyAUQdwAR0EAIA4b
BH8gDSEBIAwhDgJ/A0AgDiAQSARAIA4tAABB3ABGBH9BfyAOQQFqIg4tAABBIkcNAxogAUEiOgAAIAFBAWoFIAELIg
xBAWohASAMIA4tAAA6AAAgDkEBaiEODAELCyABCwVBfwsiAUEATgRAIAEhDQwCCwUgCkUgAUH7AEZxBEAjBiQBQQIP
BSAOQe7qseMGRgRADAMFIA5B5sKxmwdGIA5B9OTVqwZGcgR/QQEFIAxBAWogDCAMLQAAQS1GGyIBIBBGBH9BAQUgAS
0AAEEwRiAQIAxrQQFKcQsEf0EABQNAIAEtAABBMGtBCU0EQCABQQFqIQEMAQsLIAEgEE4LCwRAIBAgDGshAUEAIQ4D
QCABIA5KBEAgDSAOaiAMIA5q/QAEAP0LBAAgDkEQaiEODAELCyANIBAgDGtqIQ0MBAsLCwsgDyQFIA0kAUEBDwsgD0
EBaiEPDAELCyANIwZGIAVBAUZxBEAgDUGixAA7AQAgDUECaiENCyAJBH8gDUENOgAAIA1BAWoFIA0LIgFBAWohDSAB
QQo6AAAgC0EBaiELQQAhDwwBCwsgDSQBQQAL
`;
