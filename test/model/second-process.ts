// A server process of the model test; the wall time at which a request arrives comes with it.
import { openApp } from "../../src/app.ts";
import { readConfig } from "../../src/config/settings.ts";
import { createHttp } from "../../src/http/server.ts";
import { ORIGIN } from "../support/app.ts";
import { bugLog } from "../support/bug-log.ts";

/** Header with the process's clock, in Unix milliseconds. */
export const NOW = "x-model-now";

if (import.meta.main) {
  const [database_url = "", open_podcast_draft = "off"] = process.argv.slice(2);
  let now = 0;
  const clock = { now: () => now, sleep: async () => {} };
  const app = await openApp(readConfig({ database_url, open_podcast_draft }, {}).config, { clock, log: bugLog });
  const http = createHttp(app);
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch(request) {
      now = Number(request.headers.get(NOW));
      const { pathname, search } = new URL(request.url);
      return http.fetch(new Request(ORIGIN + pathname + search, request), {});
    },
  });
  console.log(server.url.origin);
}
