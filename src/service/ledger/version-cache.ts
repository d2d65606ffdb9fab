interface CacheEntry<Value> {
  readonly reading: Promise<Value>;
  value: Value | undefined;
}

/**
 * Values from memory as long as nothing was committed. Kept as the promises that brought them:
 * whoever asks again gets the same one, and nothing is made for it.
 */
export function versionCache<Value>(generation: () => number | Promise<number>, size: number) {
  const entries = new Map<string, CacheEntry<Value>>();
  let of = Number.NaN;

  function get(key: string, load: () => Promise<Value>): Promise<Value> {
    const current = generation();
    if (typeof current === "number") return keptAt(current, key, load).reading;
    return current.then((version) => {
      const { reading, value } = keptAt(version, key, load);
      // A promise that is answered by another takes two more rounds of the queue.
      return value ?? reading;
    });
  }

  function keptAt(version: number, key: string, load: () => Promise<Value>): CacheEntry<Value> {
    if (version !== of) {
      entries.clear();
      of = version;
    }

    const entry = entries.get(key);
    if (entry !== undefined) return entry;

    // The generation was asked for before the read: what is read may be newer, and never older.
    const fresh: CacheEntry<Value> = { reading: load(), value: undefined };

    if (entries.size >= size) return fresh;
    entries.set(key, fresh);

    const forget = (): void => {
      if (entries.get(key) === fresh) entries.delete(key);
    };

    fresh.reading.then((value) => {
      fresh.value = value;
      if (value === undefined) forget();
    }, forget);

    return fresh;
  }

  return {
    get,
    drop: (): void => {
      of = Number.NaN;
    },
  };
}
