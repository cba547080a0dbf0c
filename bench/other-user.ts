// The thread of another user, who polls and adds: what the benchmark itself sends in that time must not keep it waiting.
import { ask, emptyPoll } from "./client.ts";
import { threadTimeOf } from "./processor-time.ts";

/** Milliseconds between two requests. */
const PAUSE = 5;

/** What the thread is told first; then "end". */
export interface OtherUser {
  url: string;
  /** The server's process. */
  pid: number;
  token: string;
}

/** A request, in milliseconds. */
export interface Wait {
  /** Until the response. */
  passed: number;
  /** Of that, how long the server's thread had a processor: less depends on other programs. */
  worked: number;
}

/** What the thread says: null when it begins, its waits at the end, or why it can't go on. */
export type Report = Wait[] | null | string;

declare const self: Worker;

let ended = false;
self.onmessage = ({ data }: MessageEvent<OtherUser | "end">) => {
  if (data === "end") ended = true;
  else watch(data).then(report, (error) => report(String(error)));
};

const report = (what: Report) => self.postMessage(what);

async function watch({ url, pid, token }: OtherUser): Promise<Wait[]> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const waits: Wait[] = [];
  report(null);
  const request = async (path: string, subscription?: { feed_url: string }) => {
    const begin = { at: performance.now(), worked: threadTimeOf(pid) };
    const body = subscription && { method: "POST", body: JSON.stringify({ subscriptions: [subscription] }) };
    const response = await ask(url + path, { headers, ...body });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    waits.push({ passed: performance.now() - begin.at, worked: threadTimeOf(pid) - begin.worked });
    await Bun.sleep(PAUSE);
  };
  while (!ended) {
    await request(emptyPoll());
    await request("/subscriptions", { feed_url: `https://feeds.example.com/other/${crypto.randomUUID()}` });
  }
  return waits;
}
