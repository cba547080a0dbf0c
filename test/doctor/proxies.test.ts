// The proxies of docs/operators/install.md, as they are written there: with them, doctor has nothing to say.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority } from "../support/certificates.ts";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/patience.ts";
import { install, track } from "../support/start-server.ts";

const GUIDE = readFileSync(new URL("../../docs/operators/install.md", import.meta.url), "utf8");
const MODULES = "/usr/lib/apache2/modules";
const EXAMPLE = "podcasts.example.org";

/** The example of the guide that begins with this line. */
function exampleOf(line: string): string {
  const example = [...GUIDE.matchAll(/^```\w*\n(.*?)^```/gms)].map(([, text = ""]) => text);
  return example.find((text) => text.startsWith(`${line}\n`)) ?? `no example in the guide: ${line}`;
}

interface Proxy {
  program: string;
  example: string;
  /** The arguments that run it, with the configuration that it gets around the example. */
  arguments: (file: string, port: number) => string[];
  around: (example: string) => string;
}

const isRoot = process.getuid?.() === 0;
const NEEDED = /\/mod_(mpm_event|authz_core|ssl|socache_shmcb|proxy|proxy_http|headers)\.so$/;
const loadModules = () =>
  readdirSync(MODULES)
    .map((name) => join(MODULES, name))
    .filter((file) => NEEDED.test(file))
    .map((file) => `LoadModule ${/mod_(\w+)/.exec(file)?.[1]}_module ${file}`)
    .join("\n");

const PROXIES: Record<"Caddy" | "nginx" | "Apache" | "Traefik", Proxy> = {
  Caddy: {
    program: "/usr/bin/caddy",
    example: exampleOf(`${EXAMPLE} {`).replace(EXAMPLE, "https://localhost:PORT").replace("{", "{\ntls CERT KEY\n"),
    arguments: (file) => ["run", "--adapter", "caddyfile", "--config", file],
    around: (example) => `{\nadmin off\nauto_https disable_redirects\nstorage file_system FOLDER\n}\n${example}`,
  },
  nginx: {
    program: "/usr/sbin/nginx",
    example: exampleOf("server {").replace("443", "PORT"),
    arguments: (file) => ["-c", file, "-e", "stderr"],
    around: (example) => `daemon off; pid FOLDER/pid; events {}
http { access_log off; ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((one) => `${one}_temp_path FOLDER/${one};`)
      .join(" ")}\n${example} }`,
  },
  Apache: {
    program: "/usr/sbin/apache2",
    example: exampleOf("<VirtualHost *:443>").replace("443", "PORT"),
    arguments: (file) => ["-f", file, "-DFOREGROUND"],
    around: (example) =>
      `ServerRoot FOLDER\nPidFile FOLDER/pid\nErrorLog FOLDER/error.log\nMutex pthread\n${
        isRoot ? "User nobody\nGroup nogroup\n" : ""
      }${loadModules()}\nListen PORT\n${example}`,
  },
  Traefik: {
    program: "/usr/local/bin/traefik",
    example: exampleOf("http:"),
    arguments: (file, port) => [
      `--providers.file.filename=${file}`,
      `--entryPoints.websecure.address=:${port}`,
      /--entryPoints.websecure.transport[^`]+/.exec(GUIDE)?.[0] ?? "no timeout in the guide",
    ],
    around: (example) => `${example}\ntls:\n  certificates:\n    - { certFile: CERT, keyFile: KEY }`,
  },
};

interface Change {
  name: keyof typeof PROXIES;
  path: string;
  write: [before: string, after: string][];
  /** What the guide says of it. */
  said: string[];
}

const PATHS: Change[] = [
  {
    name: "Caddy",
    path: "/podkeep",
    write: [["reverse_proxy ", "reverse_proxy /podkeep* "]],
    said: ["`reverse_proxy /podkeep* 127.0.0.1:8042` (Caddy)"],
  },
  {
    name: "Caddy",
    path: "/podcasts",
    write: [["reverse_proxy 127.0.0.1:8042", "handle_path /podcasts* {\nreverse_proxy 127.0.0.1:8042\n}"]],
    said: ["`handle_path /podcasts* { … }` in Caddy"],
  },
  { name: "nginx", path: "/podkeep", write: [["location / ", "location /podkeep "]], said: ["`location /podkeep`"] },
  {
    name: "nginx",
    path: "/podcasts",
    write: [
      ["location / ", "location /podcasts/ "],
      ["http://127.0.0.1:8042;", "http://127.0.0.1:8042/;"],
    ],
    said: ["`location /podcasts/`", "`proxy_pass http://127.0.0.1:8042/`"],
  },
  {
    name: "Apache",
    path: "/podkeep",
    write: [["ProxyPass / http://127.0.0.1:8042/", "ProxyPass /podkeep http://127.0.0.1:8042/podkeep"]],
    said: ["`ProxyPass /podkeep http://127.0.0.1:8042/podkeep` (Apache)"],
  },
  {
    name: "Apache",
    path: "/podcasts",
    write: [["ProxyPass / http://127.0.0.1:8042/", "ProxyPass /podcasts http://127.0.0.1:8042"]],
    said: ["in Apache `ProxyPass /podcasts http://127.0.0.1:8042`"],
  },
  {
    name: "Traefik",
    path: "/podkeep",
    write: [["Host(`podcasts.example.org`)", "Host(`podcasts.example.org`) && PathPrefix(`/podkeep`)"]],
    said: ["add a `PathPrefix` of `/podkeep` to the rule (Traefik)"],
  },
  {
    name: "Traefik",
    path: "/podcasts",
    write: [
      ["Host(`podcasts.example.org`)", "Host(`podcasts.example.org`) && PathPrefix(`/podcasts`)"],
      ["      service: podkeep\n", "      service: podkeep\n      middlewares: [strip]\n"],
      ["  services:", '  middlewares:\n    strip: { stripPrefix: { prefixes: ["/podcasts"] } }\n  services:'],
    ],
    said: ["in Traefik the middleware `stripPrefix`"],
  },
];

const folder = mkdtempSync(join(tmpdir(), "podkeep-proxies-"));
const tls = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem"), ca: "" };
beforeAll(async () => {
  const authority = await createAuthority(folder);
  const { cert, key } = await authority.issue("DNS:localhost");
  writeFileSync(tls.cert, cert);
  writeFileSync(tls.key, key);
  tls.ca = authority.ca;
});
afterAll(() => rmSync(folder, { recursive: true }));

let ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

const GOOD = { missing: [], page: expect.stringMatching(/^200 .*podkeep/s), isOpenToRebinding: false };

/** Runs podkeep behind a proxy. @returns what doctor does not find good, and what browsers find */
async function examine({ program, around, ...proxy }: Proxy, example: string, path: string) {
  const port = await freePort();
  const url = `https://localhost:${port}${path}`;
  const podkeep = install();
  const server = await podkeep.serve({ PODKEEP_PUBLIC_URL: url, PODKEEP_TRUSTED_PROXIES: "127.0.0.1" });
  ends.push(() => server.end("SIGKILL"));
  const work = mkdtempSync(join(folder, "work-"));
  const text = around(example)
    .replaceAll("127.0.0.1:8042", new URL(server.url).host)
    .replaceAll(EXAMPLE, "localhost")
    .replaceAll(/\/etc\/letsencrypt\/live\/localhost\/fullchain.pem|CERT/g, tls.cert)
    .replaceAll(/\/etc\/letsencrypt\/live\/localhost\/privkey.pem|KEY/g, tls.key)
    .replaceAll("PORT", String(port))
    .replaceAll("FOLDER", work);
  const file = join(work, "configuration.yml");
  writeFileSync(file, text);
  const child = track(Bun.spawn([program, ...proxy.arguments(file, port)], { stdout: "ignore", stderr: "pipe" }));
  ends.push(async () => {
    child.kill("SIGTERM");
    await child.exited;
  });
  const ask = (page = "", headers = {}) => fetch(url + page, { headers, tls: { ca: readFileSync(tls.ca, "utf8") } });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${program}: ${await child.stderr.text()}`);
    return ask().then(
      () => true,
      () => false,
    );
  });
  const token = await podkeep.user("ann");
  const { stdout } = await podkeep.run(["doctor", "--json", "--url", url, "--token", token], { SSL_CERT_FILE: tls.ca });
  const rows: { about: string; state: string; detail: string }[] = JSON.parse(stdout);
  const about = ["TLS", "public URL", "authorization", "paths", "links", "client addresses"];
  const page = await ask();
  // As a page can send it whose name a stranger's DNS leads here.
  const rebound = await ask("/sign-in", { Host: "evil.example", "X-Forwarded-Host": "localhost" });
  return {
    missing: about.filter((one) => rows.find((row) => row.about === one)?.state !== "ok"),
    page: `${page.status} ${await page.text()}`,
    isOpenToRebinding: (await rebound.text()).includes('name="password"'),
  };
}

describe("behind the guide's", () => {
  for (const [name, proxy] of Object.entries(PROXIES)) {
    const isThere = existsSync(proxy.program);
    if (!isThere) console.warn(`SKIPPED: the guide's ${name} needs ${proxy.program}`);
    test.skipIf(!isThere)(`${name}, doctor finds no problem`, async () => {
      expect(await examine(proxy, proxy.example, "")).toEqual(GOOD);
    });
  }

  for (const { name, path, write, said } of PATHS) {
    const proxy = PROXIES[name];
    test.skipIf(!existsSync(proxy.program))(`${name} with the path ${path}, neither`, async () => {
      for (const words of said) expect(GUIDE.replaceAll("\n", " ")).toContain(words);
      let { example } = proxy;
      for (const [before, after] of write) {
        expect(example).toContain(before);
        example = example.replace(before, after);
      }
      expect(await examine(proxy, example, path)).toEqual(GOOD);
    });
  }
});
