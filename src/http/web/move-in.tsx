// Routes of moving in with a file. The page reads no other servers.
/** @jsxImportSource hono/jsx */
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { Context, Hono } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import { DomainError, isRefusal } from "../../errors.ts";
import { readMovingFile } from "../../moving/file.ts";
import { readMoving, writeMoving } from "../../moving/lines.ts";
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
/** Milliseconds for reading one. */
const PATIENCE = 20_000;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

export function serveMoveIn(http: Hono<HttpEnv>, app: App): void {
  const { config } = app;
  const limits = { feeds: config.max_items, episodes: mostActions(config) };
  const most = mostActionBytes(config);
  /** What has all of a file in memory, which a few bytes can unpack to. */
  const reading = oneEach(MOST_READ, texts.moveIn.busy, PATIENCE / 1000);

  http.get("/account/move-in", (c) => show(c, <MoveInPage notice={noticeOf(c)} />));

  http.post("/account/move-in", async (c) => {
    const problem = (text: string) => show(c, <MoveInPage problem={text} />, 400);
    const { file } = await readFields(c);
    if (!(file instanceof File) || file.size === 0) return problem(texts.moveIn.noFile);
    try {
      return await reading(c.get("actor").user_id, async () => {
        const options = { most, limits, patience: PATIENCE, signal: c.req.raw.signal };
        const moving = await readMovingFile(await file.bytes(), options);
        const found = await moveIn(app, c.get("actor"), moving, { dry_run: true });
        const data = await compress([...writeMoving(moving)].join(""));
        return show(c, <PreviewPage found={found} data={data.toString("base64url")} />);
      });
    } catch (error) {
      if (isRefusal(error, "invalid", "too_large")) {
        return problem(texts.moveIn.bad(error.message));
      }
      throw error;
    }
  });

  http.post("/account/move-in/confirm", async (c) => {
    const { data } = await readForm(c, { data: z.base64url() });
    return reading(c.get("actor").user_id, async () => {
      const moving = await readMoving(await unpack(data), limits);
      const { feeds, stored } = await moveIn(app, c.get("actor"), moving, { dry_run: false });
      return c.redirect(`/account/move-in?done=${feeds.added.length}.${stored}`, 303);
    });
  });

  async function unpack(data: string): Promise<string> {
    try {
      const text = await decompress(Buffer.from(data, "base64url"), { maxOutputLength: 2 * most });
      return text.toString();
    } catch {
      throw new DomainError("invalid", "What moves in was changed on the way: upload the file again");
    }
  }
}

function noticeOf(c: Context<HttpEnv>): string | null {
  const [, podcasts, episodes] = /^(\d{1,9})\.(\d{1,9})$/.exec(c.req.query("done") ?? "") ?? [];
  return podcasts === undefined ? null : texts.moveIn.done(Number(podcasts), Number(episodes));
}
