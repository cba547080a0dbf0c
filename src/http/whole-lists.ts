// Requests that take reading all of a user's list, history or plays: one of a user at a time, until its response is sent.
import type { Context, MiddlewareHandler } from "hono";
import { Slots } from "../slots.ts";
import { takeTurns } from "../turns.ts";
import { within } from "../within.ts";
import type { HttpEnv } from "./env.ts";
import { checkIfLate } from "./late.ts";
import { PART, respondWith, SHORT } from "./response-body.ts";
import { setLength } from "./response-headers.ts";

/** Responses that are made at a time, of all users: each has a list in memory several times. */
const making = new Slots(8);
/** Podcasts above which a user's response is also one of few, until it is sent: each feed URL may have 8 KB. */
const MANY = 500;
const large = new Slots(2);
/** Milliseconds after which a large response no longer keeps other users' waiting. */
const LONGEST_LARGE = 60_000;
/** Milliseconds after which a response no longer keeps the user's next one waiting. */
const LONGEST = 10 * 60_000;

/** Makes a middleware that begins when the user's earlier requests in this line are answered. @param most at a time */
function createLine(most = 1): (c: Context<HttpEnv>, next: () => Promise<void>) => Promise<void> {
  const line = new Slots(Number.POSITIVE_INFINITY, most);
  const giveTurn = takeTurns();
  return (c, next) => {
    const { user_id } = c.get("actor");
    const isLarge = (c.get("podcasts") ?? 0) > MANY;
    const begin = performance.now();
    const made = Promise.withResolvers<void>();
    const sent = Promise.withResolvers<void>();
    // A connection whose body has arrived has no idle time.
    const isIdle = !c.req.raw.body && !(line.mayBegin(user_id) && (!isLarge || large.mayBegin(user_id)));
    if (isIdle) c.env.awaitResponse?.();
    const answer = async () => {
      if (isIdle) c.env.stayOpen?.();
      if (line.waiting + large.waiting > 0) {
        await giveTurn();
        // An app that gave up asks again.
        c.req.raw.signal.throwIfAborted();
      }
      await making.run(() => checkIfLate(c, begin).then(next), user_id);
      const body = await readLong(c);
      if (body) respondWith(c, streamWhile(body, c.req.raw.signal, sent.resolve));
      else sent.resolve();
      made.resolve();
    };
    const answerAsLarge = () => answer().then(() => within(LONGEST_LARGE, sent.promise));
    const inTurn = async () => {
      await (isLarge ? large.run(answerAsLarge, user_id) : answer());
      await sent.promise;
    };
    line.run(inTurn, user_id).catch(made.reject);
    return made.promise;
  };
}

/** For lists and pages. */
export const waitInLine = createLine();
/** For files, which a browser may save while its user reads pages. */
export const waitForFile = createLine();
/** For episodes: two devices may read them slowly. */
export const waitForEpisodes = createLine(2);

/** Items of a page up to which it is read at once. */
const FEW = 50;

/** For pages of which the client chooses the size. @param name of that parameter */
export const waitIfLarge =
  (name: string): MiddlewareHandler<HttpEnv> =>
  (c, next) =>
    Number(c.req.query(name)) > FEW ? waitInLine(c, next) : next();

/** The body of a response if it is a stream or long; null if it is short, or only its length is sent. */
async function readLong(c: Context<HttpEnv>): Promise<AsyncIterator<Uint8Array> | null> {
  if (c.get("body") === "short") return null;
  if (c.req.raw.method === "HEAD") {
    await setLength(c);
    return null;
  }
  const { res } = c;
  if (res.body !== null && (c.get("body") === "stream" || res.headers.has("Content-Encoding"))) {
    return res.body[Symbol.asyncIterator]();
  }
  const text = await res.text();
  if (text.length > SHORT) return partsOf(Buffer.from(text));
  respondWith(c, text || null);
  return null;
}

async function* partsOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PART) yield bytes.subarray(at, at + PART);
}

/** Streams a body. @param end is called when it was read, or its reader is gone */
function streamWhile(
  body: AsyncIterator<Uint8Array>,
  signal: AbortSignal,
  end: () => void,
): ReadableStream<Uint8Array> {
  const leave = async () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
    end();
    // It rejects if the rest could not be read, which was logged. Nobody awaits this: the process would end.
    await body.return?.().catch(() => {});
  };
  const timer = setTimeout(end, LONGEST);
  signal.addEventListener("abort", leave);
  if (signal.aborted) leave();
  return new ReadableStream({
    async pull(controller) {
      try {
        const part = await body.next();
        if (!part.done) return controller.enqueue(part.value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      await leave();
    },
    cancel: leave,
  });
}
