/** Ends a text as a sentence ends. A question keeps its mark. */
export const toSentence = (text: string): string => (/[.?!…]$/.test(text) ? text : `${text}.`);
