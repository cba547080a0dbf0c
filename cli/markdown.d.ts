// Markdown is imported as text.
declare module "*.md" {
  const text: string;
  export default text;
}
