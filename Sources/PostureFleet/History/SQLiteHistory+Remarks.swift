public import Posture
import PostureSQLite

extension SQLiteHistory {
  public func add(_ remark: HistoryRemark) throws(HistoryError) -> Int64 {
    let row = remark.row
    var number: Int64 = 0
    do throws(SQLiteError) {
      try database.prepare(
        "INSERT INTO remark (device, at, by, what, chain, text) VALUES (?,?,?,?,?,?) RETURNING number"
      ).run([
        .text(remark.device.description), .integer(remark.at), .text(remark.by), .text(row.what), .text(row.chain),
        .text(row.text),
      ]) {
        number = $0.integer(0)
        return true
      }
    } catch { throw HistoryError(error) }
    return number
  }

  public func remarks(after number: Int64) throws(HistoryError) -> (remarks: [HistoryRemark], last: Int64) {
    var last = number
    let remarks = try remarks("WHERE number > ? ORDER BY number", [.integer(number)]) { last = $0 }
    return (remarks, last)
  }

  public func contradicted() throws(HistoryError) -> [Name: Int64] {
    var devices: [Name: Int64] = [:]
    do throws(SQLiteError) {
      try database.prepare(
        "SELECT device, MAX(received) FROM contradiction new WHERE \(Self.contradictsUnaccepted) GROUP BY device"
      ).run([]) { row in
        if let name = row.text(0).flatMap({ Name($0) }) { devices[name] = row.integer(1) }
        return true
      }
    } catch { throw HistoryError(error) }
    return devices
  }

  /// When an operator accepted last what had come from the device.
  static func accepted(_ device: String) -> String {
    "COALESCE((SELECT MAX(at) FROM remark WHERE device = \(device) AND what = '\(HistoryRemark.acknowledged)'), -1)"
  }

  /// Of a contradiction `new`: with what an operator accepted, numbers may begin anew. What is gone by its age is not known
  /// to have been accepted.
  static let contradictsUnaccepted = {
    let isSame = "kid = new.kid AND typ = new.typ AND chain = new.chain AND seq = new.seq"
    return """
      (EXISTS (SELECT 1 FROM everything WHERE \(isSame) AND digest <> new.digest AND received > \(accepted("new.device")))
        OR NOT EXISTS (SELECT 1 FROM message WHERE \(isSame)))
      """
  }()

  public func remarks(of device: Name, limit: Int) throws(HistoryError) -> [HistoryRemark] {
    try remarks(
      "WHERE device = ? ORDER BY number DESC LIMIT ?", [.text(device.description), .integer(Int64(limit))])
  }

  private func remarks(
    _ clauses: String, _ values: [Statement.Value], _ seen: (Int64) -> Void = { _ in }
  ) throws(HistoryError) -> [HistoryRemark] {
    var remarks: [HistoryRemark] = []
    do throws(SQLiteError) {
      try database.prepare("SELECT number, device, at, by, what, chain, text FROM remark \(clauses)").run(values) {
        row in
        seen(row.integer(0))
        if let remark = Self.remark(row) { remarks.append(remark) }
        return true
      }
    } catch { throw HistoryError(error) }
    return remarks
  }

  /// nil for a row that this version did not write.
  private static func remark(_ row: borrowing Row) -> HistoryRemark? {
    guard let device = row.text(1).flatMap(Name.init), let by = row.text(3), let what = row.text(4),
      let chain = row.text(5), let text = row.text(6),
      let kind = HistoryRemark.kind(what: what, chain: chain, text: text)
    else { return nil }
    return HistoryRemark(device: device, at: row.integer(2), by: by, kind: kind)
  }
}
