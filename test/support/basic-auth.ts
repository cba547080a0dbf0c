// Basic authentication (RFC 7617) as apps send it.

/** The header of a name and a password. */
export const basicAuth = (name: string, password: string, encoding: BufferEncoding = "utf8") => ({
  Authorization: `Basic ${Buffer.from(`${name}:${password}`, encoding).toString("base64")}`,
});
