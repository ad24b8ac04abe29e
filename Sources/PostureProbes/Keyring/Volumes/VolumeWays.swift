import Posture

/// What opens a volume as it is set up: its header's slots, and how the system goes about them. Pure.
struct VolumeWays: Hashable, Sendable {
  /// nil: not known.
  private(set) var opening: Opening?
  private(set) var because: [Reason] = []
  /// Why it opens without proof, or why that is not known.
  private(set) var cause: Cause?
  /// Slots and facts worth a remark: finding code and what was seen.
  private(set) var remarks: [Cause] = []

  private let plan: UnlockPlan
  private let place: Place

  init(_ header: LUKSHeader, _ plan: UnlockPlan, _ place: Place) {
    self.plan = plan
    self.place = place
    opening = .never
    if header.isFromSecondCopy { because.append(Reason("luks.secondCopy", place)) }
    takeOpen(header)
    for slot in header.slots where !slot.tokens.isEmpty { take(slot) }
    takePlain(header.slots.filter { $0.tokens.isEmpty })
    takeEmptyPassphrase(header.slots)
    // A slot that was not tried may be one for the empty passphrase.
    if plan.triesEmptyPassword, header.slots.contains(where: { $0.opensWithNothing == nil }) {
      unknown(Cause("notModelled", observed: "an empty passphrase is tried, and may be enrolled", evidence: [place]))
    }
    // What else it may do only matters where it is not open anyway.
    if let gap = plan.gap, opening?.answer != .notRequired { unknown(gap) }
    if because.isEmpty {
      because.append(
        opening == nil ? Reason("volume.unknown", cause?.evidence?.first ?? place) : Reason("luks.noSlotInUse", place))
    }
    if opening == .always {
      cause = cause ?? Cause("openSecret", observed: "a way in needs nothing", evidence: [place])
    }
    if cause == nil, opening?.answer == .notRequired {
      cause = Cause("deviceBoundOnly", observed: "a slot opens on this hardware by itself", evidence: [place])
    }
  }

  /// Without a header of its own (plain dm-crypt, or a header that could not be read): the key alone counts.
  init(withoutHeader plan: UnlockPlan, isTyped: Bool, _ place: Place) {
    self.plan = plan
    self.place = place
    opening = .never
    takePlain(isTyped ? [LUKSHeader.Slot(id: "0")] : [])
  }

  private mutating func unknown(_ why: Cause) {
    // What opens with nothing does so whatever else there is.
    if opening == .always { return }
    opening = nil
    cause = why
  }

  /// Nobody is asked on a machine without a head: there only what needs no typing counts.
  private mutating func add(_ way: Opening, _ reason: String, _ at: Place? = nil) {
    let typed: Set<Factor> = [.passcode, .recovery]
    let sets = plan.isHeadless ? way.sets.filter { $0.factors.allSatisfy { !typed.contains($0) } } : way.sets
    opening = opening?.or(Opening(sets))
    because.append(Reason(sets.isEmpty && !way.sets.isEmpty ? "crypttab.headless" : reason, at ?? place))
  }

  /// What needs no key at all.
  private mutating func takeOpen(_ header: LUKSHeader) {
    if header.hasPlainData {
      takeAlways("volumeNotEncrypted", "the header is there, and data is not encrypted", place, "luks.plainData")
    }
    for slot in header.slots where slot.isOpen {
      takeAlways("volumeNotEncrypted", "slot \(slot.id) holds the key as it is", place, "luks.nullCipher")
    }
  }

  /// Enter opens it, whether the system tries that by itself or somebody does.
  private mutating func takeEmptyPassphrase(_ slots: [LUKSHeader.Slot]) {
    for slot in slots where slot.opensWithNothing == true {
      takeAlways("openSecret", "slot \(slot.id) opens with an empty passphrase", place, "luks.emptyPassphrase")
    }
  }

  private mutating func takeAlways(_ code: String, _ observed: String, _ at: Place, _ reason: String) {
    opening = .always
    because.append(Reason(reason, at))
    cause = Cause(code, observed: observed, evidence: [at])
  }

  // MARK: Slots with a token

  private mutating func take(_ slot: LUKSHeader.Slot) {
    for token in slot.tokens {
      guard plan.uses(token), isTried(slot) else {
        remarks.append(
          Cause("latentSlot", observed: "slot \(slot.id) (\(token.name)) is not used here", evidence: [place]))
        continue
      }
      take(token, slot)
    }
  }

  private func isTried(_ slot: LUKSHeader.Slot) -> Bool { plan.slot.map { $0 == slot.id } ?? !slot.isIgnored }

  private mutating func take(_ token: KeyslotToken, _ slot: LUKSHeader.Slot) {
    note(token, slot)
    guard let way = token.opening else {
      because.append(Reason("luks.token.\(token.name)", place))
      unknown(Cause("notModelled", observed: "slot \(slot.id) has a token of type \(token.name)", evidence: [place]))
      return
    }
    if way != .always {
      add(way, "luks.\(token.name)")
    } else if token.asksNetwork {
      takeAlways(
        "keyFromNetwork", "slot \(slot.id): a server hands over the key", place, "luks.\(token.name).network")
    } else {
      takeAlways("openSecret", "slot \(slot.id): its token holds the key as it is", place, "luks.\(token.name)")
    }
  }

  private mutating func note(_ token: KeyslotToken, _ slot: LUKSHeader.Slot) {
    let isUnbound =
      switch token {
      case .tpm2(let pin, let isBound): !pin && !isBound
      case .clevis(let pin): pin?.hasUnboundTPM ?? false
      default: false
      }
    if isUnbound {
      remarks.append(
        Cause("tpmWithoutPCRs", observed: "slot \(slot.id) (\(token.name)) names no PCR", evidence: [place]))
    }
  }

  // MARK: Slots without one: a passphrase, or a key file

  private mutating func takePlain(_ slots: [LUKSHeader.Slot]) {
    let tried = slots.filter(isTried)
    for slot in slots where !isTried(slot) {
      remarks.append(Cause("latentSlot", observed: "slot \(slot.id) is tried only by name", evidence: [place]))
    }
    switch plan.key {
    case .throwAway: because.append(Reason("volume.throwAwayKey", place))
    case .none:
      if !tried.isEmpty { add(.passcode, "luks.passphrase") }
    case .asked(let way, let at): add(way, "crypttab.keyscript", at)
    case .handedOver(let why):
      because.append(Reason("crypttab.handedOver", why.evidence?.first))
      unknown(why)
    case .file(let name, let way, let at): takeKeyFile(name, way, at, isAlone: tried.count < 2)
    }
  }

  /// Of the slots without a token one is the key file's; which, does not show.
  private mutating func takeKeyFile(_ name: String, _ way: Opening?, _ at: Place, isAlone: Bool) {
    if !isAlone { add(.passcode, "luks.passphrase") }
    guard let way else {
      because.append(Reason("crypttab.keyFile", at))
      unknown(Cause("unknownDoor", observed: "what opens \(name) is not known", evidence: [at]))
      return
    }
    if way == .always {
      takeAlways("keyFileBesideLock", "\(name) is readable with the disk alone", at, "crypttab.keyFile")
    } else {
      add(way, "crypttab.keyFile", at)
    }
  }
}
