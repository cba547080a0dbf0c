// Reading a stream up to a limit, and the limit in words.

const MEGABYTE = 1024 * 1024;

/** A number of bytes for people: "32 MB"; in KB if they are no whole megabytes. */
export const sizeText = (bytes: number) =>
  bytes % MEGABYTE === 0 ? `${bytes / MEGABYTE} MB` : `${Math.floor(bytes / 1024)} KB`;

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
