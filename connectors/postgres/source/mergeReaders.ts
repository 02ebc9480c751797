/** What several readers give, as it comes. Each is at most one item ahead. */

export async function* mergeReaders<T>(readers: readonly AsyncGenerator<T>[]): AsyncGenerator<T> {
  const next = (index: number) => {
    const item = readers[index]!.next().then(result => ({ index, result }));
    // It may fail while nobody waits for it: the next wait tells.
    item.catch(() => {});
    return item;
  };
  const waiting = new Map(readers.map((_, index) => [index, next(index)]));
  try {
    while (waiting.size > 0) {
      const { index, result } = await Promise.race(waiting.values());
      if (result.done) {
        waiting.delete(index);
        continue;
      }
      waiting.set(index, next(index));
      yield result.value;
    }
  } finally {
    // Those that still read end by the signal or their connection; what they fail with then is nobody's concern.
    for (const reader of readers) void reader.return(undefined).catch(() => {});
  }
}
