extension PAM {
  /// Walks a stack as `_pam_dispatch_aux` does.
  ///
  /// A module may answer in several ways: the person picks (shows a finger, or does not), and the system picks where
  /// it is not known well enough. The answer says whether the person can reach the goal whatever the system does.
  struct Evaluator {
    /// What one entry may return: the person takes one of the outer list, the system any of the inner one.
    typealias Choices = [[Code]]

    enum Value: Int, Comparable, Sendable {
      case no, unknown, yes
      static func < (left: Value, right: Value) -> Bool { left.rawValue < right.rawValue }
    }

    struct Result: Sendable {
      var value: Value
      /// Indices of the entries that moved the answer on the way that was taken.
      var path: [Int]
    }

    private let entries: [Entry]
    private let goal: (Code, Handle) -> Bool
    private let choices: (Int, Handle) -> Choices
    private let leave: (Int, Code, inout Handle) -> Void
    private var memory: [State: Result] = [:]
    private var steps = 0

    /// Far more states than a real stack has.
    private static let maximalSteps = 50_000

    /// `leave`: what an entry that returned this code has left.
    init(
      _ entries: [Entry], goal: @escaping (Code, Handle) -> Bool, leave: @escaping (Int, Code, inout Handle) -> Void,
      choices: @escaping (Int, Handle) -> Choices
    ) {
      self.entries = entries
      self.goal = goal
      self.choices = choices
      self.leave = leave
    }

    /// Entries that leave nothing to one another.
    init(_ entries: [Entry], goal: Set<Code>, choices: @escaping (Int) -> Choices) {
      self.init(
        entries, goal: { code, _ in goal.contains(code) }, leave: { _, _, _ in },
        choices: { index, _ in choices(index) })
    }

    /// Whether the goal can be reached.
    mutating func evaluate() -> Result { value(State()) }

    /// The code that a stack of modules with one fixed answer each ends with.
    static func run(_ entries: [Entry], code: (Int) -> Code) -> Code {
      var state = State()
      while true {
        state.skipSubstacks(entries)
        guard state.index < entries.count else { return state.final }
        let index = state.index
        switch state.step(entries, entries[index].fixedCode ?? code(index)) {
        case .end(let code): return code
        case .next: break
        }
      }
    }

    private mutating func value(_ start: State) -> Result {
      var state = start
      var path: [Int] = []
      while true {
        state.skipSubstacks(entries)
        let index = state.index
        guard index < entries.count else {
          return Result(value: goal(state.final, state.handle) ? .yes : .no, path: path)
        }
        let options = entries[index].fixedCode.map { [[$0]] } ?? choices(index, state.handle)
        guard options.count == 1, options[0].count == 1 else {
          let result = branch(options, state)
          return Result(value: result.value, path: path + result.path)
        }
        // Nobody has a choice here: there is nothing to remember.
        leave(index, options[0][0], &state.handle)
        switch state.step(entries, options[0][0]) {
        case .end(let code): return Result(value: goal(code, state.handle) ? .yes : .no, path: path + [index])
        case .next(let counts): if counts { path.append(index) }
        }
      }
    }

    private mutating func branch(_ options: Choices, _ state: State) -> Result {
      if let known = memory[state] { return known }
      steps += 1
      guard steps < Self.maximalSteps else { return Result(value: .unknown, path: [state.index]) }
      var best: Result?
      for option in options where best?.value != .yes {
        let result = worst(of: option, state)
        if best == nil || result.value > best!.value { best = result }
      }
      let result = best ?? Result(value: .no, path: [])
      memory[state] = result
      return result
    }

    /// What every code of `option` agrees on; unknown where they do not.
    private mutating func worst(of option: [Code], _ state: State) -> Result {
      var agreed: Result?
      for code in option {
        let result = after(code, state)
        guard let before = agreed else {
          agreed = result
          continue
        }
        if before.value != result.value { return Result(value: .unknown, path: [state.index] + result.path) }
      }
      return agreed ?? Result(value: .no, path: [])
    }

    private mutating func after(_ code: Code, _ state: State) -> Result {
      var next = state
      leave(state.index, code, &next.handle)
      switch next.step(entries, code) {
      case .end(let code):
        return Result(value: goal(code, next.handle) ? .yes : .no, path: [state.index])
      case .next(let counts):
        var result = value(next)
        if counts { result.path.insert(state.index, at: 0) }
        return result
      }
    }
  }

  /// Where a walk through a stack stands.
  fileprivate struct State: Hashable {
    enum Impression: Hashable { case undefined, positive, negative }
    struct Saved: Hashable {
      var impression = Impression.undefined
      var status = Code.mustFail
    }

    var index = 0
    var handle = Handle()
    private var previousLevel = 0
    private var now = Saved()
    /// The state at the entry of each level; level 0 at the start.
    private var saved: [Saved] = [Saved()]

    enum Step {
      case end(Code)
      /// `counts`: the entry was more than a bystander.
      case next(counts: Bool)
    }

    var final: Code {
      now.status == .success && now.impression != .positive ? .mustFail : now.status
    }

    mutating func skipSubstacks(_ entries: [Entry]) {
      while index < entries.count, entries[index].kind == .substack { enter(entries[index].level) }
    }

    private mutating func enter(_ level: Int) {
      remember(level)
      previousLevel = level
      index += 1
    }

    private mutating func remember(_ level: Int) {
      guard previousLevel < level else { return }
      while saved.count <= level { saved.append(now) }
      saved.removeLast(saved.count - level - 1)
      saved[level] = now
    }

    mutating func step(_ entries: [Entry], _ code: Code) -> Step {
      let entry = entries[index]
      remember(entry.level)
      if code == .incomplete { return .end(code) }
      let before = now
      let isValid = (0..<Int16(Code.count)).contains(code.number)
      let action = isValid ? entry.control[code] : .bad
      let status = isValid ? code : Code.mustFail
      var isDecided = false
      switch action {
      case .ignore: break
      case .reset: now = saved[entry.level]
      case .ok, .done:
        accept(status)
        isDecided = action == .done && now.impression == .positive
      case .bad, .die:
        refuse(status)
        isDecided = action == .die
      case .jump(let count): jump(entries, count, entry.level)
      case .badJump: now = Saved(impression: .negative, status: .mustFail)
      }
      if isDecided { leave(entries, entry.level) }
      index += 1
      previousLevel = entry.level
      if case .jump = action { return .next(counts: true) }
      return .next(counts: isDecided || now != before)
    }

    private mutating func accept(_ status: Code) {
      guard now.impression == .undefined || (now.impression == .positive && now.status == .success) else { return }
      now = Saved(impression: .positive, status: status)
    }

    private mutating func refuse(_ status: Code) {
      guard now.impression != .negative else { return }
      now = Saved(impression: .negative, status: status == .ignore ? .mustFail : status)
    }

    /// Passes over what is left of this level.
    private mutating func leave(_ entries: [Entry], _ level: Int) {
      while index + 1 < entries.count, entries[index + 1].level >= level { index += 1 }
    }

    private mutating func jump(_ entries: [Entry], _ count: Int, _ level: Int) {
      var left = count
      while left > 0, index + 1 < entries.count, entries[index + 1].level >= level {
        repeat { index += 1 } while index + 1 < entries.count && entries[index + 1].level > level
        left -= 1
      }
      // Too few entries to pass over: nothing can mend that any more.
      if left > 0 { now = Saved(impression: .negative, status: .mustFail) }
    }
  }
}

extension PAM.Entry {
  /// What this entry returns without any module having a say.
  var fixedCode: PAM.Code? { kind == .mustFail ? .mustFail : nil }
}
