/** Milliseconds of this process's own work that `act` took: unlike time, the same beside whatever else the machine does. */
export async function cpuMsOf(act: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
