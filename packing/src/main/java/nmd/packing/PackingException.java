// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;

/**
 * The configuration is invalid. The message is a sentence that says what to change. The ResourceManager doesn't start.
 */
final class PackingException extends YarnRuntimeException {
    private static final long serialVersionUID = 1L;

    PackingException(String message) {
        super(message);
    }

    PackingException(String message, Throwable cause) {
        super(message, cause);
    }
}
