/** Interleaved rounds: A B A B …, the first side by chance, one warm-up round dropped (method, §1). */

/**
 * @param {Record<string, () => Promise<object>>} sides each call is one round of that side; its
 *   numbers are kept by name
 * @returns {Promise<Record<string, object[]>>} the rounds of each side, without the warm-up
 */
export async function interleave(sides, { rounds, random, warmUp = 1, log }) {
  const names = Object.keys(sides);
  const shift = Math.floor(random() * names.length);
  const order = names.map((_, i) => names[(i + shift) % names.length]);
  const results = Object.fromEntries(names.map(name => [name, []]));
  for (let round = -warmUp; round < rounds; round++) {
    for (const name of order) {
      const result = await sides[name]();
      if (round >= 0) {
        results[name].push(result);
      }
      log(
        `${round < 0 ? 'warm-up' : `round ${round + 1}/${rounds}`} ${name}: ${JSON.stringify(result)}`
      );
    }
  }
  return results;
}
