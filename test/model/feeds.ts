// Feed URLs and guids in the oracle: keys, computed guids, and what is refused.

const NAMESPACE = "ead4c236-bf58-58c6-a2c6-a6b28d128cb6";

/** The text by which two URLs are the same feed (docs/api.md). The URL must have passed feedProblem. */
export function feedKey(address: string): string {
  const [, authority = "", rest = ""] = /^https?:\/\/([^/?#]*)([^#]*)/i.exec(address) ?? [];
  const userinfo = authority.slice(0, authority.lastIndexOf("@") + 1);
  return (userinfo + new URL(address).host + rest).replace(/\/+$/, "");
}

/** The guid that Podcasting 2.0 computes from a feed key. */
export function computedGuid(key: string): string {
  return Bun.randomUUIDv5(key, NAMESPACE);
}

/** Why a feed URL is refused, in the words of a POST failure. */
export function feedProblem(address: string): string | undefined {
  if (!address.includes("://")) return "No protocol present";
  if (!/^https?:/i.test(address)) return "Only http and https are supported";
  if (!URL.canParse(address)) return "Not a valid URL";
  return undefined;
}

/** Whether a text is a guid: a UUID of any version, except the nil and the max one. */
export function isGuid(text: string): boolean {
  const digits = text.replaceAll("-", "").toLowerCase();
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) && !/^(0{32}|f{32})$/.test(digits);
}
