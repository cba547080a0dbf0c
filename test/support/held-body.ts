// A body of a request whose end is held back.

/** @returns the body, when all but its end was read, and what sends the end */
export function holdBody(text: string): { body: ReadableStream; read: Promise<void>; end: () => void } {
  const [read, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const parts = [Buffer.from(text.slice(0, -1)), Buffer.from(text.slice(-1))];
  const body = new ReadableStream(
    {
      async pull(stream) {
        const part = parts.shift();
        if (parts.length === 0) read.resolve();
        if (parts.length === 0) await rest.promise;
        if (part) stream.enqueue(part);
        else stream.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { body, read: read.promise, end: rest.resolve };
}
