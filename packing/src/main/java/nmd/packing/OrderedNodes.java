// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.ToLongFunction;

import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;

/**
 * A look-up's answer: nodes in the order of their numbers. Most look-ups end with the first node or two, so they stand
 * in a heap and are put in order only as far as they are asked for.
 *
 * <p>When nothing fits anywhere, the scheduler reserves room on the last node it was given, and only there. Where nodes
 * differ in size the last one may be too small for what is asked for, and a large container would wait for ever: then
 * the roomiest of the largest nodes comes once more.
 */
final class OrderedNodes<N extends SchedulerNode> implements Iterator<N> {
    private static final long INDEX_MASK = (1L << NodeOrder.INDEX_BITS) - 1;

    private final ToLongFunction<SchedulerNode> exact;
    private final N[] nodes;
    private final long[] heap;
    private int added;
    private int left;
    private N next;
    private N last;

    @SuppressWarnings("unchecked")
    OrderedNodes(int capacity, ToLongFunction<SchedulerNode> exact) {
        this.exact = exact;
        nodes = (N[]) new SchedulerNode[capacity];
        heap = new long[capacity];
    }

    /** {@code place} leaves the bits of the index free. What is more than was counted is left out. */
    void add(N node, long place) {
        if (added < nodes.length) {
            nodes[added] = node;
            heap[added] = place | added;
            added++;
        }
    }

    /** All are added. */
    void ready() {
        left = added;
        for (int i = left / 2 - 1; i >= 0; i--) {
            sink(i);
        }
        next = pop();
    }

    @Override
    public boolean hasNext() {
        return next != null;
    }

    @Override
    public N next() {
        if (next == null) {
            throw new NoSuchElementException();
        }
        N result = next;
        next = pop();
        return result;
    }

    /** A node at the head whose exact place is further back goes there, and is tried again when it is at the head. */
    private N pop() {
        while (left > 0) {
            long index = heap[0] & INDEX_MASK;
            N node = nodes[(int) index];
            long place = exact.applyAsLong(node) | index;
            if (place > heap[0]) {
                heap[0] = place;
                sink(0);
                continue;
            }
            heap[0] = heap[--left];
            sink(0);
            if (NodeOrder.takesContainers(node)) {
                last = node;
                return node;
            }
        }
        return again();
    }

    private N again() {
        N before = last;
        last = null; // once only
        N best = before;
        for (int i = 0; before != null && i < added; i++) {
            N node = nodes[i];
            if (roomier(node, best) && node.getReservedContainer() == null && NodeOrder.takesContainers(node)) {
                best = node;
            }
        }
        return best == null || size(best) == size(before) ? null : best;
    }

    private boolean roomier(N node, N than) {
        return size(node) > size(than) || size(node) == size(than) && free(node) > free(than);
    }

    private long size(N node) {
        return node.getTotalResource().getMemorySize();
    }

    private long free(N node) {
        return node.getUnallocatedResource().getMemorySize();
    }

    private void sink(int at) {
        long moving = heap[at];
        for (int child = 2 * at + 1; child < left; child = 2 * at + 1) {
            if (child + 1 < left && heap[child + 1] < heap[child]) {
                child++;
            }
            if (heap[child] >= moving) {
                break;
            }
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = moving;
    }
}
