// Some of what RFC 5321 §4.1.2 allows: no quoted local parts, no address literals, nothing but ASCII. What is left
// out is what may hold ends of lines and commas.
const ADDRESS =
  /^[\w!#$%&'*+/=?^`{|}~-]{1,64}(?:\.[\w!#$%&'*+/=?^`{|}~-]{1,64})*@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*$/;
const LONGEST = 254;
const LONGEST_LOCAL = 64;

/** Whether a text is a mail address by itself, without a name beside it. */
export function isMailAddress(text: string): boolean {
  return text.length <= LONGEST && text.indexOf('@') <= LONGEST_LOCAL && ADDRESS.test(text);
}
