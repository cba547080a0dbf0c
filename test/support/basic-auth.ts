// Basic authentication (RFC 7617) as apps send it.

/** The header of a name and a password, in UTF-8. */
export const basicAuth = (name: string, password: string) => ({
  Authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`,
});
