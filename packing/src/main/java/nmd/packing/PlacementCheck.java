// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import org.apache.hadoop.conf.Configuration;

final class PlacementCheck {
    private PlacementCheck() {
    }

    static void everyQueueHasPolicy(Configuration conf) {
    }
}
