// A user who sets an episode's position on the page of a running server.
import { fieldValues } from "./fields.ts";
import { signInAt } from "./page-session.ts";

const SAME = { "Sec-Fetch-Site": "same-origin" };

/** Signs in, opens the episode that was played last, and chooses "Continue from here" at the play that ends there. */
export async function continueFrom(server: string, name: string, secret: string, position: number): Promise<void> {
  const Cookie = await signInAt(server, name, secret);
  const open = async (path: string) => (await fetch(server + path, { headers: { Cookie } })).text();
  const [, path = ""] = /href="[^"]*(\/listening\/episodes\/\d+)"/.exec(await open("/listening")) ?? [];
  const page = await open(path);
  const offered = fieldValues(page, "position").map(Number);
  if (!offered.includes(position)) throw new Error(`The page offers ${offered.join(", ") || "nothing"}: ${page}`);
  const { status } = await submit(`${server}${path}/position`, { position: String(position) }, Cookie);
  if (status !== 303) throw new Error(`Status ${status}`);
}

const submit = (url: string, fields: Record<string, string>, Cookie: string) =>
  fetch(url, { method: "POST", redirect: "manual", body: new URLSearchParams(fields), headers: { ...SAME, Cookie } });
