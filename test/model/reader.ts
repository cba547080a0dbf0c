// An app's reads, with a cache as apps have one: what a 304 lets it keep must be right.
import { expect } from "bun:test";
import type { Answer } from "./answers.ts";
import { type LinkedPage, withoutDetails } from "./wire.ts";
import type { Client } from "./world.ts";

export class Reader {
  readonly #cache = new Map<string, { etag: string; body: unknown }>();

  constructor(readonly client: Client) {}

  async get(path: string): Promise<Answer> {
    const cached = this.#cache.get(path);
    const answer = await this.client.request("GET", path, undefined, cached && { "if-none-match": cached.etag });
    if (answer.status === 304) return { status: 200, body: cached?.body };
    const etag = answer.headers.get("etag");
    if (etag) this.#cache.set(path, { etag, body: answer.body });
    return withoutDetails(answer);
  }

  async page(link: string): Promise<LinkedPage> {
    const { status, body } = await this.get(link);
    expect(status).toBe(200);
    return body as LinkedPage;
  }
}
