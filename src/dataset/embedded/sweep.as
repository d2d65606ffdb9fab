// AssemblyScript: who of a chunk of people passes tests, sixteen people at once. `npm run wasm` keeps
// its code in sweep.ts, which puts codes and test where they are read.

/** A bit for each person of the chunk, in their order. */
const BITS = 8192;
/** Of each byte the places of its bits, as eight numbers of 16 bits. */
const PLACES_OF = 16384;
const TEST = 20480;
const CODES = 65536;
/** Up to 14 bytes too many are written behind the last. The memory is as large from the start: once
 * one has grown, V8 asks at each look into an array whether that is still there. */
const PLACES = 196608;

for (let byte = 0; byte < 256; byte++) {
  let to = PLACES_OF + (byte << 4);
  for (let bit = 0; bit < 8; bit++) {
    if (((byte >> bit) & 1) == 0) continue;
    store<u16>(to, bit);
    to += 2;
  }
}

/** Everybody passes until a test says otherwise. */
export function begin(people: i32): void {
  const whole = people >> 3;
  const rest: i32 = (1 << (people & 7)) - 1;
  memory.fill(BITS, 0xff, whole);
  memory.fill(BITS + whole, 0, 8192 - whole);
  if (rest != 0) store<u8>(BITS + whole, rest);
}

// @ts-ignore: decorator
@inline
function keep(from: i32, passing: v128): void {
  const word = BITS + (from >> 3);
  store<u16>(word, load<u16>(word) & i8x16.bitmask(passing));
}

/**
 * Codes of one byte. The test is a table of two times sixteen bytes: bit `h` of byte `l` is for
 * code `16 * h + l`, and in the second half for that plus 128.
 */
export function bytes(people: i32): void {
  const below = v128.load(TEST);
  const above = v128.load(TEST, 16);
  const bitBelow = i8x16(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
  const bitAbove = i8x16(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, -128);
  for (let from = 0; from < people; from += 16) {
    const codes = v128.load(CODES + from);
    const row = v128.and(codes, i8x16.splat(15));
    const bit = i8x16.shr_u(codes, 4);
    const passing = v128.or(
      v128.and(i8x16.swizzle(below, row), i8x16.swizzle(bitBelow, bit)),
      v128.and(i8x16.swizzle(above, row), i8x16.swizzle(bitAbove, bit)),
    );
    keep(from, i8x16.ne(passing, i8x16.splat(0)));
  }
}

/** Codes of two bytes. The test is ranges: the first code of each, and how many it has. */
export function pairs(people: i32, ranges: i32): void {
  for (let from = 0; from < people; from += 16) {
    const some = v128.load(CODES + (from << 1));
    const others = v128.load(CODES + (from << 1), 16);
    let passing = i16x8.splat(0);
    let otherPassing = i16x8.splat(0);
    for (let range = 0; range < ranges; range++) {
      const first = v128.load_splat<u16>(TEST + (range << 2));
      const many = v128.load_splat<u16>(TEST + (range << 2), 2);
      passing = v128.or(passing, i16x8.lt_u(i16x8.sub(some, first), many));
      otherPassing = v128.or(otherPassing, i16x8.lt_u(i16x8.sub(others, first), many));
    }
    keep(from, i8x16.narrow_i16x8_s(passing, otherPassing));
  }
}

export function count(): i32 {
  let sum = 0;
  for (let word = BITS; word < BITS + 8192; word += 8) sum += popcnt(load<u64>(word)) as i32;
  return sum;
}

/** Writes the places of who passes, in their order. @returns how many they are */
export function places(people: i32): i32 {
  let to = PLACES;
  for (let first = 0; first < people; first += 8) {
    const byte = load<u8>(BITS + (first >> 3)) as i32;
    v128.store(to, i16x8.add(v128.load(PLACES_OF + (byte << 4)), i16x8.splat(first as i16)));
    to += popcnt(byte) << 1;
  }
  return (to - PLACES) >> 1;
}
