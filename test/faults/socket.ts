// A raw connection: sends exact bytes and reads the responses.
import { WAIT } from "../support/patience.ts";

export interface Heard {
  /** The statuses of all responses, in order. */
  statuses: number[];
  /** Whether the server closed the connection. */
  closed: boolean;
  text: string;
}

/** Milliseconds without another response, after which a connection counts as open. */
const QUIET = 300;

/**
 * Sends `bytes` and reads until the server closes the connection, or, unless that `closes`, until it has sent `answers`
 * responses and then nothing for some time.
 */
export async function say(url: string, bytes: string | Uint8Array, answers: number, closes: boolean): Promise<Heard> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let text = "";
  let quiet: ReturnType<typeof setTimeout> | undefined;
  const statuses = () => [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map((match) => Number(match[1]));
  const limit = setTimeout(() => resolve(false), WAIT);
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_, bytes) {
        text += bytes.toString("latin1");
        clearTimeout(quiet);
        if (!closes && statuses().length >= answers) quiet = setTimeout(() => resolve(false), QUIET);
      },
      end: () => resolve(true),
      close: () => resolve(true),
      error: () => resolve(true),
    },
  });
  socket.write(bytes);
  socket.flush();
  const closed = await promise;
  clearTimeout(limit);
  clearTimeout(quiet);
  socket.terminate();
  return { statuses: statuses(), closed, text };
}
