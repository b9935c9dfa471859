// SPDX-License-Identifier: Apache-2.0
package nmd.packing.bench;

import java.util.Arrays;

/** Durations of all calls. The simulator's own timers keep only the last hundred calls. */
final class Durations {
    private long[] nanos = new long[1 << 16];
    private int count;

    synchronized void add(long value) {
        if (count == nanos.length) {
            nanos = Arrays.copyOf(nanos, 2 * count);
        }
        nanos[count++] = value;
    }

    /** Returns JSON with the number of calls, and the mean and some quantiles in microseconds. */
    synchronized String toJson() {
        long[] sorted = Arrays.copyOf(nanos, count);
        Arrays.sort(sorted);
        double mean = Arrays.stream(sorted).average().orElse(0) / 1000;
        return String.format("{\"count\": %d, \"mean\": %.1f, \"p50\": %.1f, \"p95\": %.1f, \"p99\": %.1f}", count,
                mean,
                quantile(sorted, 0.5), quantile(sorted, 0.95), quantile(sorted, 0.99));
    }

    private static double quantile(long[] sorted, double q) {
        return sorted.length == 0 ? 0 : sorted[(int) Math.min(sorted.length - 1, q * sorted.length)] / 1000.0;
    }
}
