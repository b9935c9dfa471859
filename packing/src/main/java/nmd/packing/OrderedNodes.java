// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.ToLongFunction;

import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;

/**
 * The result of a look-up: nodes in the order of their places. Most look-ups need only the first node or two. So the
 * nodes are in a heap, and are sorted only as far as they are requested.
 *
 * <p>If no node has room, the scheduler reserves room on one node only: the last node that it got. If nodes differ in
 * size, this node may be too small for the request, and a large container would wait forever. So if a larger node than
 * the last one exists, the iterator returns a node a second time at the end: among the largest nodes without a
 * reservation, the node with the most free memory.
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

    /** Adds a node. The index bits of {@code place} must be 0. Nodes beyond the capacity are ignored. */
    void add(N node, long place) {
        if (added < nodes.length) {
            nodes[added] = node;
            heap[added] = place | added;
            added++;
        }
    }

    /** Builds the heap. Must be called after all nodes have been added. */
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

    /**
     * Returns the next node. The exact place of the node at the head may be further back. In this case, the node is
     * moved to its exact place, and the new head is examined.
     */
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
        return largestAgain();
    }

    private N largestAgain() {
        N before = last;
        last = null; // a node is returned a second time only once
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
