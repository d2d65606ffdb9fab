/** How many places are below something, of places in rising order. */
export function partition(size: number, isBelow: (place: number) => boolean): number {
  let from = 0;
  let to = size;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (isBelow(middle)) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Texts in rising order: that of UTF-8 is that of code points. */
export function sortedTexts(starts: Uint32Array, bytes: Buffer) {
  const size = starts.length - 1;

  // A call of Buffer's own costs more than the few bytes that two texts share.
  const compare = (key: Buffer, place: number): number => {
    const start = starts[place] ?? 0;
    const length = (starts[place + 1] ?? 0) - start;
    for (let index = 0; index < length && index < key.length; index++) {
      const difference = (bytes[start + index] ?? 0) - (key[index] ?? 0);
      if (difference !== 0) return difference;
    }
    return length - key.length;
  };

  return {
    size,
    compare,
    value: (place: number): string => bytes.toString("utf8", starts[place], starts[place + 1]),
    /** How many are below these bytes, or up to them. */
    below: (key: Buffer): number => partition(size, (place) => compare(key, place) < 0),
    upTo: (key: Buffer): number => partition(size, (place) => compare(key, place) <= 0),
  };
}
