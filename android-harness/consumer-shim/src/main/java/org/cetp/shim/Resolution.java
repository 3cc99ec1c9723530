package org.cetp.shim;

/** A PendingIntent of a reply (§4.3), with what Android tells of it. */
public final class Resolution {
    /** The shim's own; in an app it is the PendingIntent itself. */
    final String id;

    public final String creatorPackage;

    /** Null where the platform cannot tell, as before API 31. */
    public final Boolean immutable;

    Resolution(String id, String creatorPackage, Boolean immutable) {
        this.id = id;
        this.creatorPackage = creatorPackage;
        this.immutable = immutable;
    }
}
