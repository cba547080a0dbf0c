// Reading a stream up to a limit.

/** Reads a stream to its end; null as soon as it has more than `most` bytes. */
export async function readUpTo(stream: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > most) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
