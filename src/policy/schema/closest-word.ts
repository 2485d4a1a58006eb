// "Did you mean": the known word nearest to one that is not known, or null when none is near enough to be meant.

export function closestWord(word: string, known: Iterable<string>): string | null {
  let best: string | null = null;
  // Two slips, or a third of a long word, may be meant; more than that is another word.
  let bestDistance = Math.max(word.length < 4 ? 1 : 2, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

export function didYouMean(word: string, known: Iterable<string>): string {
  const words = [...known];
  const closest = closestWord(word, words);
  if (closest !== null) return `did you mean \`${closest}\`?`;
  return `known: ${words.join(', ')}`;
}

function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 8 || a.length > 64) return Number.POSITIVE_INFINITY;
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      current[j] = Math.min(previous[j]! + 1, current[j - 1]! + 1, previous[j - 1]! + cost);
    }
    previous = current;
  }
  return previous[b.length]!;
}
