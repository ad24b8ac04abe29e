/// The closed list of actions that amount to root, or that change who may enter.
///
/// Left out on purpose, because stock systems allow them and they give no more than they say: installing signed packages
/// from the sources that are set up (`packagekit.package-install`), signed firmware, mounting, power, network, time.
enum PolkitRootActions {
  static let reasons: [String: String] = [
    "org.freedesktop.policykit.exec": "pkexec runs any program as root",
    "org.freedesktop.systemd1.manage-units": "starts any unit, and new ones with any command (systemd-run)",
    "org.freedesktop.systemd1.manage-unit-files": "links and enables unit files from anywhere",
    "org.freedesktop.systemd1.set-environment": "sets variables of every service, LD_PRELOAD among them",
    "org.freedesktop.machine1.host-shell": "opens a root shell on the host",
    "org.freedesktop.portable1.attach-images": "attaches an image whose units run as root",
    "org.freedesktop.accounts.user-administration": "changes passwords and makes administrators",
    "org.freedesktop.accounts.set-login-option": "turns automatic login on",
    "org.gnome.controlcenter.user-accounts.administration": "changes passwords and makes administrators",
    "org.freedesktop.home1.create-home": "makes users who may enter",
    "org.freedesktop.home1.update-home": "changes groups and passwords of users",
    "org.freedesktop.home1.passwd-home": "changes passwords of users",
    "org.freedesktop.realmd.configure-realm": "lets a directory decide who may enter",
    "net.reactivated.fprint.device.enroll": "adds a finger that opens the session",
    "net.reactivated.fprint.device.setusername": "adds a finger for another user",
    "org.freedesktop.packagekit.package-install-untrusted": "installs unsigned packages, whose scripts run as root",
    "org.freedesktop.packagekit.system-trust-signing-key": "trusts the keys of anybody's packages",
    "org.freedesktop.packagekit.system-sources-configure": "adds sources of packages",
    "org.debian.apt.install-file": "installs any package file, whose scripts run as root",
    "org.debian.apt.change-repository": "adds sources of packages",
    "io.snapcraft.snapd.manage": "installs snaps without confinement",
    "org.freedesktop.udisks2.open-device-system": "reads and writes the system's disks",
    "org.freedesktop.udisks2.modify-system-configuration": "changes fstab and crypttab",
    "org.libvirt.unix.manage": "gives machines the host's disks",
    "org.cockpit-project.cockpit.root-bridge": "opens a root bridge",
    "org.kde.kcontrol.kcmsddm.save": "turns automatic login on",
  ]
}
