// Routes of moving in with a file. The page reads no other servers.
/** @jsxImportSource hono/jsx */
import { Readable } from "node:stream";
import { createGunzip, createGzip } from "node:zlib";
import type { Context, Hono } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Moving } from "../../domain/moving-in.ts";
import { isRefusal } from "../../errors.ts";
import { readMovingFile } from "../../moving/file.ts";
import { changedOnTheWay, type MovingLimits, readMoving, writeMoving } from "../../moving/lines.ts";
import { MOST_DEVICES } from "../../services/devices/devices.ts";
import { moveIn } from "../../services/moving-in.ts";
import type { HttpEnv } from "../env.ts";
import { mostActionBytes, mostActions } from "../limits.ts";
import { readFields, readForm } from "./form.ts";
import { oneEach } from "./one-each.ts";
import { MoveInPage, PreviewPage } from "./pages/move-in.tsx";
import { show } from "./render.tsx";
import { texts } from "./texts.ts";

/** Files in memory at a time, each of another user. */
const MOST_READ = 2;
/** Seconds after which another one may be sent. Most take a few, the largest on a small machine longer. */
const RETRY_AFTER = 20;

export function serveMoveIn(http: Hono<HttpEnv>, app: App): void {
  const { config } = app;
  const most = mostActionBytes(config);
  const limits: MovingLimits = {
    feeds: config.max_items,
    episodes: mostActions(config),
    devices: MOST_DEVICES,
    bytes: most,
  };
  /** What has all of a file in memory, which a few bytes can unpack to. */
  const reading = oneEach(MOST_READ, texts.moveIn.busy, RETRY_AFTER);

  http.get("/account/move-in", (c) => show(c, <MoveInPage notice={noticeOf(c)} />));

  http.post("/account/move-in", async (c) => {
    const problem = (text: string) => show(c, <MoveInPage problem={text} />, 400);
    const { file } = await readFields(c);
    if (!(file instanceof File) || file.size === 0) return problem(texts.moveIn.noFile);
    try {
      return await reading(c.get("actor").user_id, async () => {
        const options = { most, limits, signal: c.req.raw.signal };
        const moving = await readMovingFile(file, options);
        const found = await moveIn(app, c.get("actor"), moving, { dry_run: true });
        return show(c, <PreviewPage found={found} data={await pack(moving)} />);
      });
    } catch (error) {
      if (isRefusal(error, "invalid", "too_large")) {
        return problem(texts.moveIn.bad(error.message));
      }
      throw error;
    }
  });

  http.post("/account/move-in/confirm", async (c) => {
    const { data } = await readForm(c, { data: z.base64url().min(1) });
    return reading(c.get("actor").user_id, async () => {
      const moving = await readMoving(unpack(data), limits);
      const { feeds, stored, devices } = await moveIn(app, c.get("actor"), moving, { dry_run: false });
      return c.redirect(`/account/move-in?done=${feeds.added.length}.${stored}.${devices}`, 303);
    });
  });
}

async function pack(moving: Moving): Promise<string> {
  const packed = Readable.from(writeMoving(moving)).pipe(createGzip());
  return Buffer.concat(await Array.fromAsync<Buffer>(packed)).toString("base64url");
}

/** Unpacks a part at a time: a few bytes can unpack to gigabytes. */
async function* unpack(data: string): AsyncGenerator<Uint8Array> {
  const unpacked = createGunzip();
  unpacked.end(Buffer.from(data, "base64url"));
  try {
    yield* unpacked;
  } catch {
    throw changedOnTheWay();
  }
}

function noticeOf(c: Context<HttpEnv>): string | null {
  const [, podcasts, episodes, devices] = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/.exec(c.req.query("done") ?? "") ?? [];
  return podcasts === undefined ? null : texts.moveIn.done(Number(podcasts), Number(episodes), Number(devices));
}
