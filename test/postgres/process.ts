// A server in a process of its own: settings from the environment, a line with its port when it is ready.
import { openApp } from "../../src/app.ts";
import { readConfig } from "../../src/config.ts";
import { createHttp } from "../../src/http/server.ts";

const app = await openApp(readConfig({}).config);
const http = createHttp(app);
app.worker.start();
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 60,
  fetch: (request) => http.fetch(request, { address: "127.0.0.1" }),
});
console.log(server.port);
