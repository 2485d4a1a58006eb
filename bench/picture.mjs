// Draws a report as bars, one group for each figure and one bar for each contender: latest.svg beside latest.json.
const shown = [
  ['CPU s for 10,000 small requests', 'small64', (r) => r.cpu_s_per_10k],
  ['CPU ms for a new connection', 'conn', (r) => r.cpu_s_per_10k / 10],
  ['CPU s for a GB down', 'down', (r) => r.cpu_s_per_gb],
  ['CPU s for a GB up', 'up', (r) => r.cpu_s_per_gb],
  ['ms until an event is through', 'sse', (r) => r.event_p50_ms],
  ['CPU ms for a turn of an agent', 'agent', (r) => r.cpu_ms_per_turn],
  ['KiB for an open tunnel', 'hold', (r) => r.kib_per_tunnel],
  ['MiB when idle', 'hold', (r) => r.rss_before_kib / 1024],
];
const colours = { sallyport: '#0b6e6e', floor: '#7a7a7a' };
const [left, barWidth, barHeight, gap] = [150, 420, 16, 26];

export function drawReport(report) {
  const parts = [];
  let y = 40;
  for (const [title, test, figure] of shown) {
    const bars = Object.entries(report.median[test] ?? {}).flatMap(([name, result]) => {
      const value = result.error ? Number.NaN : figure(result);
      return value > 0 ? [[name, value]] : [];
    });
    if (!bars.length) continue;
    parts.push(`<text x="8" y="${y}" font-weight="bold">${title}</text>`);
    y += 8;
    const longest = Math.max(...bars.map(([, value]) => value));
    for (const [name, value] of bars) {
      const width = Math.max(1, (value / longest) * barWidth);
      const fill = colours[name] ?? '#c2b280';
      parts.push(
        `<text x="${left - 8}" y="${y + 12}" text-anchor="end">${name}</text>`,
        `<rect x="${left}" y="${y}" width="${width.toFixed(1)}" height="${barHeight - 3}" fill="${fill}"/>`,
        `<text x="${(left + width + 6).toFixed(1)}" y="${y + 12}">${Number(value.toPrecision(3))}</text>`,
      );
      y += barHeight;
    }
    y += gap;
  }
  const size = `width="${left + barWidth + 90}" height="${y}"`;
  const head = `<text x="8" y="18">Less is better. ${report.when.slice(0, 10)}, ${report.machine.cores} cores, medians of ${report.rounds}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="12"><rect ${size} fill="white"/>${head}${parts.join('')}</svg>\n`;
}
